import { shownLength, shownTime } from '../../../domain/cards/shownTime.ts'
import { AgentFailure, type RawUpdate } from '../../link/agentLink.ts'
import { reasonIn, toPlainLine } from '../../link/failureReasons.ts'
import { asObject } from '../../link/json.ts'

const maxTailLength = 400
const maxToolLength = 120
/** Updates that show that the model has answered. Other updates, such as user_message_chunk, come from the agent's own program. */
const modelKinds = new Set(['agent_message_chunk', 'agent_thought_chunk', 'tool_call', 'tool_call_update', 'plan'])
/** Copilot reports its retries as whole messages: "Info: Request failed due to a transient API error. Retrying..." */
const retryMessage = /^(info|warning): [^\n]{0,200}\bretrying\b[^\n]{0,100}$/i

/** An agent's visible wait within a turn. */
export interface AgentWait {
  /** Since when the agent has been silent, as an ISO time. Null if the silence is short. */
  silentSince: string | null
  /** The agent's own report of a retry. */
  retrying: string | null
  /** The details of an agent that shows no sign of life. Null for an agent that does. */
  lifeless: Lifeless | null
}
export interface Lifeless {
  /** The unfinished tool call. */
  tool: string | null
  /** The end of the agent's stderr. */
  wrote: string
}
export const noWait: AgentWait = { silentSince: null, retrying: null, lifeless: null }

export const lifelessAs = (tool: string | undefined, stderr: string): Lifeless => ({
  tool: toPlainLine(tool ?? '').slice(0, maxToolLength) || null,
  wrote: toPlainLine(stderr.slice(-maxTailLength)),
})

export const isSignOfModel = ({ sessionUpdate, used }: RawUpdate): boolean =>
  modelKinds.has(sessionUpdate) || (sessionUpdate === 'usage_update' && typeof used === 'number' && used > 0)

/** The report of a retry in an update: Codex sends it in its metadata, Copilot as a message. */
export function retryIn({ sessionUpdate, _meta, content }: RawUpdate): string | undefined {
  const { text } = asObject(content)
  if (sessionUpdate === 'agent_message_chunk' && typeof text === 'string')
    return retryMessage.test(text.trim()) ? toPlainLine(text) : undefined
  const { message, additionalDetails, willRetry } = asObject(asObject(asObject(_meta).codex).error)
  if (willRetry !== true || typeof message !== 'string') return undefined
  return toPlainLine(typeof additionalDetails === 'string' ? `${message} (${additionalDetails})` : message)
}

/** The message for users about a wait. Null if there is none. */
export const describeWait = ({ silentSince, retrying, lifeless }: AgentWait): string | null =>
  sentences(
    retrying && `The agent retries automatically: ${retrying}`,
    silentSince && !lifeless && `No output since ${shownTime(silentSince)}. The agent might be waiting for its model.`,
    silentSince &&
      lifeless &&
      `No output since ${shownTime(silentSince)}, and the agent's processes are idle. Cancel the agent, or let it continue.`,
    ...detailsOf(lifeless),
  ) || null

/** The failure of a turn whose agent reports why its model does not answer. Undefined if the agent reports no known reason. */
export function failureNamedIn(retrying: string | null, stderr: string, quietForMs: number): AgentFailure | undefined {
  const reason = reasonIn(retrying ?? stderr)
  return (
    reason &&
    new AgentFailure(
      reason,
      sentences(
        `The agent has received nothing from its model for ${shownLength(quietForMs)}, so its turn was ended.`,
        retrying && `It said: ${retrying}`,
        ...detailsOf(lifelessAs(undefined, stderr)),
      ),
    )
  )
}

/** The failure of a turn that was ended because its agent showed no sign of life. */
export const silentFailure = (
  { silentSince, retrying, lifeless }: AgentWait & { silentSince: string },
  lifelessForMs: number,
): AgentFailure =>
  new AgentFailure(
    'silent',
    sentences(
      `The agent has sent no output since ${shownTime(silentSince)}, and its processes have been idle for ${shownLength(lifelessForMs)}, so its turn was ended.`,
      'Retry the card, or send its agent a message.',
      retrying && `It said: ${retrying}`,
      ...detailsOf(lifeless),
    ),
  )

const detailsOf = (lifeless: Lifeless | null): (string | null | false)[] => [
  lifeless?.tool ? `Its tool has not ended: ${lifeless.tool}.` : null,
  lifeless?.wrote ? `It wrote: ${lifeless.wrote}` : null,
]

const sentences = (...parts: (string | null | false)[]): string => parts.filter(Boolean).join(' ')
