import type { FailedTurnRule, FailureReason } from '../link/agentLink.ts'
import { reasonOfError, reasonOfStatus, toPlainLine } from '../link/failureReasons.ts'

type Json = Readonly<Record<string, unknown>>
const record = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})

/**
 * Codex reports a failed turn as successful. But its thread is then in the state `systemError`, and the preceding error can
 * contain an HTTP status.
 */
export const codexFailedTurn: FailedTurnRule = ({ states, lastChunk }) => {
  const known = states.map(state => record(record(state).codex))
  const status = known.findLast(({ threadStatus }) => threadStatus !== undefined)?.threadStatus
  if (record(status).type !== 'systemError') return null
  const error = record(known.findLast(({ error }) => error !== undefined)?.error)
  const text = toPlainLine(lastChunk) || toPlainLine(String(error.message ?? ''))
  return { reason: reasonOfStatus(statusIn(error.codexErrorInfo)) ?? reasonOr(text), message: text || noWords }
}

const noWords = 'The agent reported an error of its model service, without a word about it.'
const reasonOr = (text: string): FailureReason => reasonOfError(text) ?? 'model_error'

/** `{ responseStreamDisconnected: { httpStatusCode: 429 } }` */
const statusIn = (info: unknown): unknown =>
  Object.values(record(info))
    .map(each => record(each).httpStatusCode)
    .find(each => typeof each === 'number')

/** The text with which Copilot's own program begins its reports. */
const copilotReport =
  /^Error: (Failed to get response from the AI model|Authentication failed with provider|Model '.*' not found on provider|\d{3} |.*\(HTTP \d{3}\))/

/**
 * Copilot ends a failed turn normally, with the error as the last text. That text arrives in one chunk, without the usage that
 * follows a model's answer. If earlier calls succeeded, there is usage as well, so the text decides.
 */
export const copilotFailedTurn: FailedTurnRule = ({ lastChunk, responseHasUsage }) => {
  if (!lastChunk.startsWith('Error: ') || (responseHasUsage && !copilotReport.test(lastChunk))) return null
  const text = toPlainLine(lastChunk)
  return { reason: reasonOr(text), message: text }
}
