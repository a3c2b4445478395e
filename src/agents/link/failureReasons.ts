import { AgentFailure, type FailureReason } from './agentLink.ts'

const maxShownLength = 500
/** The JSON-RPC error code of the Agent Client Protocol. */
const authRequired = -32000

/** Error messages of agents and of the services behind them. The first pattern that matches decides. */
const reasonPatterns: readonly [FailureReason, RegExp][] = [
  ['usage_limit', /usage[ _-]?limit|usagelimitexceeded|sessionbudgetexceeded/],
  ['usage_limit', /\b(hit|reached|exceeded|exhausted|over) (your|the|its) [\w' -]{0,30}(limit|quota)\b/],
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
    /model[ _](was )?not[ _]found|model \S{1,80} not found|model .{1,80} (does not exist|is not (available|supported))|unknown model/,
  ],
  [
    'refused',
    /content[ _](policy|filter)|usage polic(y|ies)|responsible ?ai|blocked by .{0,20}safety|cyberpolicy|misalignmentpolicyviolation|policy_denied/,
  ],
]

/** Error texts of agents and API clients when the model was unreachable or answered with an error. */
const modelError =
  /internal server error|server[ _]error|api ?error|overloaded|high demand|(service|temporarily|model) (is )?unavailable|bad gateway|gateway time-?out|fetch failed|failed to get response|econn(refused|reset|aborted)|etimedout|enotfound|socket hang up|connection (error|refused|reset|closed)|stream disconnected|unexpected eof|\bterminated\b|\b(http|status|error|code)\W{1,4}5\d\d\b|\b5\d\d (internal|bad|service|gateway|the server|status)/

/** The failure that a stop reason means; `null` is success. Other stop reasons violate the protocol. */
const stopReasons: Readonly<Record<string, readonly [FailureReason, string] | null>> = {
  end_turn: null,
  cancelled: null,
  refusal: ['refused', 'The agent refused to continue.'],
  max_tokens: ['usage_limit', 'The agent stopped at its limit of tokens.'],
  max_turn_requests: ['usage_limit', 'The agent stopped at its limit of requests for one turn.'],
}

/** Some agents report a limit as an ordinary answer. The report is then the whole message of the turn. */
const limitMessage =
  /^\W{0,3}(you've hit your [\w' -]{0,30}limit|claude ai usage limit reached|you've reached your [\w' -]{0,30}limit|you have (hit|reached|exceeded|exhausted) your [\w' -]{0,30}(limit|quota)|(error: )?rate limit (reached|exceeded))/i
const maxLimitMessageLength = 400

/** The reason that an agent's error text names. Undefined if no pattern matches. */
export function reasonIn(text: string): FailureReason | undefined {
  const lower = text.slice(0, 20_000).toLowerCase().replaceAll('’', "'")
  return reasonPatterns.find(([, pattern]) => pattern.test(lower))?.[0]
}

/** The reason that the error text of a turn names. The model might have been unreachable. */
export const reasonOfError = (text: string): FailureReason | undefined =>
  reasonIn(text) ?? (modelError.test(text.slice(0, 20_000).toLowerCase()) ? 'model_error' : undefined)

/** The reason that an HTTP status names. Undefined for an ambiguous status. */
export function reasonOfStatus(status: unknown): FailureReason | undefined {
  if (typeof status !== 'number') return undefined
  if (status === 401 || status === 403) return 'launch_failed'
  if (status === 402 || status === 429) return 'usage_limit'
  return status >= 500 && status <= 599 ? 'model_error' : undefined
}

/** Whether a text is an ordinary answer that reports a limit. */
export const limitIn = (text: string): boolean =>
  text.length <= maxLimitMessageLength && limitMessage.test(text.replaceAll('’', "'"))

/** Checks the reason with which a turn ended. @throws AgentFailure if the reason means a failure */
export function checkStopReason(stopReason: unknown): 'end_turn' | 'cancelled' {
  const found =
    typeof stopReason === 'string' && Object.hasOwn(stopReasons, stopReason) ? stopReasons[stopReason] : undefined
  if (found === undefined)
    throw new AgentFailure(
      'protocol_violation',
      `The agent ended its turn with an unknown reason${typeof stopReason === 'string' ? ` (${toPlainLine(stopReason).slice(0, 80)})` : ''}.`,
    )
  if (found) throw new AgentFailure(...found)
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

/** The failure that a JSON-RPC error of an agent means. `fallback` is the reason if no pattern matches. */
export function failureOf(error: AgentError, fallback: FailureReason): AgentFailure {
  const message = typeof error.message === 'string' ? error.message : ''
  const data = error.data === undefined ? '' : typeof error.data === 'string' ? error.data : JSON.stringify(error.data)
  if (isAuthRequired(error)) return new AgentFailure('launch_failed', `${notSignedIn} It says: ${toPlainLine(message)}`)
  // Gemini CLI answers with the status of its model service as the code.
  const reason = reasonOfError(`${message}\n${data}`) ?? reasonOfStatus(error.code) ?? fallback
  return new AgentFailure(
    reason,
    `The agent answered with an error: ${toPlainLine(message) || 'no message'}${data ? ` (${toPlainLine(data)})` : ''}`,
  )
}

/** Untrusted text as one plain line of bounded length. */
export function toPlainLine(text: string): string {
  const line = text
    .slice(0, 20_000)
    .replace(/\u001b(\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(\u0007|\u001b\\)?)/g, '')
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim()
  return line.length > maxShownLength ? `${line.slice(0, maxShownLength - 1)}…` : line
}
