import { AgentFailure, type FailureReason } from './agentLink.ts'

const longestShown = 500
/** The protocol's JSON-RPC code. */
const authRequired = -32000

/** What agents and the services behind them say when they cannot go on; the first line that fits decides. */
const sayings: readonly [FailureReason, RegExp][] = [
  ['usage_limit', /usage[ _-]?limit|usagelimitexceeded|sessionbudgetexceeded/],
  ['usage_limit', /\b(hit|reached|exceeded|over) (your|the|its) [\w' -]{0,30}(limit|quota)\b/],
  ['usage_limit', /rate[ _-]?limit|ratelimitexceeded|too many requests|\b429\b/],
  [
    'usage_limit',
    /insufficient_quota|quota (exceeded|exhausted|reached)|exceeded your current quota|resource_exhausted|quota_exhausted/,
  ],
  [
    'usage_limit',
    /out of (free )?(credits|requests|tokens)|credit balance is too low|billing_error|payment required|no (more )?premium requests|budget (exceeded|exhausted)/,
  ],
  [
    'launch_failed',
    /auth(entication)?[ _]required|authentication[ _](failed|error)|not (logged|signed) in|login required|please (run \/login|log ?in|sign ?in)/,
  ],
  [
    'launch_failed',
    /(invalid|incorrect|missing|expired|no)[ _](x-)?api[ _-]?key|api[ _-]?key (is )?(not valid|invalid|missing|not (set|found))|invalid_grant|(oauth )?token (has )?expired|\b401\b|unauthorized/,
  ],
  [
    'launch_failed',
    /model[ _](was )?not[ _]found|model .{1,80} (does not exist|is not (available|supported))|unknown model/,
  ],
  [
    'refused',
    /content[ _](policy|filter)|usage polic(y|ies)|responsible ?ai|blocked by .{0,20}safety|cyberpolicy|misalignmentpolicyviolation|policy_denied/,
  ],
]

/** How a turn that the agent itself ended without an error is to be taken; `null` is well. Other words than these are not of the protocol. */
const stopReasons: Readonly<Record<string, readonly [FailureReason, string] | null>> = {
  end_turn: null,
  cancelled: null,
  refusal: ['refused', 'The agent refused to go on.'],
  max_tokens: ['usage_limit', 'The agent stopped at its limit of tokens.'],
  max_turn_requests: ['usage_limit', 'The agent stopped at its limit of requests for one turn.'],
}

/** An answer with which some agents end a turn in good order that did nothing: it is the whole message. */
const wholeMessage =
  /^\W{0,3}(you've hit your [\w' -]{0,30}limit|claude ai usage limit reached|you've reached your [\w' -]{0,30}limit|you have (hit|reached|exceeded) your [\w' -]{0,30}(limit|quota)|(error: )?rate limit (reached|exceeded))/i
const longestWholeMessage = 400

/** What an agent's words tell of why it failed; undefined where they are of no known kind. */
export function reasonIn(words: string): FailureReason | undefined {
  const lower = words.slice(0, 20_000).toLowerCase().replaceAll('’', "'")
  return sayings.find(([, pattern]) => pattern.test(lower))?.[0]
}

/** How a stop reason is to be taken. `lastMessage` is all that the agent said in the turn when it used no tool, else ''. @throws AgentFailure where it is a failure */
export function checkStopReason(stopReason: unknown, lastMessage: string): 'end_turn' | 'cancelled' {
  const found =
    typeof stopReason === 'string' && Object.hasOwn(stopReasons, stopReason) ? stopReasons[stopReason] : undefined
  if (found === undefined)
    throw new AgentFailure(
      'protocol_violation',
      `The agent ended its turn with an unknown reason${typeof stopReason === 'string' ? ` (${shown(stopReason).slice(0, 80)})` : ''}.`,
    )
  if (found) throw new AgentFailure(...found)
  if (lastMessage.length <= longestWholeMessage && wholeMessage.test(lastMessage.replaceAll('’', "'")))
    throw new AgentFailure('usage_limit', shown(lastMessage))
  return stopReason as 'end_turn' | 'cancelled'
}

export const notSignedIn =
  'The agent is not signed in. Choose a credential for it, or sign in with the agent itself on the account that runs the server.'

interface AgentError {
  code?: unknown
  message?: unknown
  data?: unknown
}

export const isAuthRequired = (error: unknown): boolean => (error as AgentError)?.code === authRequired

/** The failure that an agent's error answer means. `otherwise` is its reason when its words are of no known kind. */
export function failureOf(error: AgentError, otherwise: FailureReason): AgentFailure {
  const message = typeof error.message === 'string' ? error.message : ''
  const data = error.data === undefined ? '' : typeof error.data === 'string' ? error.data : JSON.stringify(error.data)
  if (isAuthRequired(error)) return new AgentFailure('launch_failed', `${notSignedIn} It says: ${shown(message)}`)
  const reason = reasonIn(`${message}\n${data}`) ?? otherwise
  return new AgentFailure(
    reason,
    `The agent answered with an error: ${shown(message) || 'no message'}${data ? ` (${shown(data)})` : ''}`,
  )
}

/** Outside words as one plain line of bounded length. */
export function shown(words: string): string {
  const line = words
    .slice(0, 20_000)
    .replace(/\u001b(\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(\u0007|\u001b\\)?)/g, '')
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim()
  return line.length > longestShown ? `${line.slice(0, longestShown - 1)}…` : line
}
