import { AgentFailure, type FailedTurnRule, type TurnEnd, type TurnFailure, type TurnSigns } from './agentLink.ts'
import { checkStopReason, limitIn, reasonOfError, toPlainLine } from './failureReasons.ts'

const maxReportLength = 1000
/** The beginning of a program's error report. */
const errorReport =
  /^\W{0,3}((api|internal|server|network|connection|http|stream|model|provider|request|fatal|unexpected) )?(error|failure)( \d{3}\b|\s?[:(])|^\W{0,3}(error|http|status)[ :]+[45]\d\d\b/i

/** Whether a text is only an agent's error report. */
const isErrorReport = (text: string): boolean => text.length <= maxReportLength && errorReport.test(text.trim())

const unclear = (text: string): TurnFailure => ({
  reason: 'unclear',
  message: `The agent's last message looks like an error: ${text} Retry the card, or move it to the next column if its work is done.`,
})

/**
 * Applies to every agent. An error report is not a result. If tokens were spent or tools were used, the text can be part of the result, so
 * a user decides.
 */
const anyFailedTurn: FailedTurnRule = ({ lastMessage, usedTools, usage }) => {
  const text = toPlainLine(lastMessage)
  if (!usedTools && limitIn(lastMessage)) return { reason: 'usage_limit', message: text }
  if (!isErrorReport(lastMessage)) return null
  return usage === null && !usedTools ? { reason: reasonOfError(text) ?? 'model_error', message: text } : unclear(text)
}

/** Judges a turn that its agent answered. @throws AgentFailure if the stop reason or the agent's output means a failure */
export function judgeTurn(stopReason: unknown, turn: TurnSigns, rule?: FailedTurnRule): TurnEnd {
  try {
    const ended = checkStopReason(stopReason)
    const failure = ended === 'end_turn' ? (rule?.(turn) ?? anyFailedTurn(turn)) : null
    if (failure) throw new AgentFailure(failure.reason, failure.message)
    return { stopReason: ended, usage: turn.usage }
  } catch (error) {
    throw error instanceof AgentFailure ? error.after(turn.usage) : error
  }
}
