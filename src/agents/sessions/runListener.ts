import type { AgentListener } from '../link/agentLink.ts'
import type { Transcript } from '../transcript/agentTranscript.ts'
import type { LastMessage } from '../transcript/lastMessage.ts'
import type { ContextWatch } from './watch/contextWatch.ts'
import type { RunQuestions } from './questions/runQuestions.ts'
import type { SilenceWatch } from './watch/silenceWatch.ts'
import type { UsageMeter } from './watch/usageMeter.ts'

/** The receivers of an agent's output. */
interface Receivers {
  silence: SilenceWatch
  usage: UsageMeter
  lastMessage: LastMessage
  context: ContextWatch
  questions: RunQuestions
  transcript: Transcript
  /** Called when the agent begins to use a tool. */
  onTool(): void
  /** Called when the agent's context is nearly full. */
  onFullContext(): void
}

/** Passes the updates of an agent to the parts of its run, to the transcript last. */
export const createRunListener = ({ questions, ...receivers }: Receivers): AgentListener => ({
  update: update => {
    receivers.silence.add(update)
    receivers.usage.add(update)
    receivers.lastMessage.add(update)
    if (update.sessionUpdate === 'tool_call') receivers.onTool()
    receivers.context.add(update)
    questions.update(update)
    if (receivers.context.isFull()) receivers.onFullContext()
    return receivers.transcript.add(update)
  },
  permission: request => questions.add(request),
  permissionWithdrawn: id => questions.remove(id),
})
