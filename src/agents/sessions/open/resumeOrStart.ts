import { setImmediate } from 'node:timers/promises'
import { AgentFailure, type AgentLink, type StartedSession } from '../../link/agentLink.ts'

/**
 * Starts an agent with its earlier conversation, if there is one. If the agent exits instead of loading the conversation, it is started
 * once more with a new conversation, because the conversation might be lost and the agent would exit at each attempt.
 * @throws AgentFailure
 */
export async function resumeOrStart(
  open: () => Promise<AgentLink>,
  onOpened: (link: AgentLink) => void,
  resume: string | null,
): Promise<{ link: AgentLink; started: StartedSession }> {
  const link = await open()
  onOpened(link)
  try {
    return { link, started: await link.start(resume) }
  } catch (error) {
    if (resume === null || !(error instanceof AgentFailure) || !(await hasEnded(link))) throw error
    link.close()
    const another = await open()
    onOpened(another)
    return { link: another, started: { ...(await another.start()), refusal: error.message } }
  }
}

const hasEnded = ({ exited }: AgentLink): Promise<boolean> =>
  Promise.race([exited ? exited.then(() => true) : false, setImmediate(false)])

/** The remark that an agent began a new conversation, and why. */
export const newConversationRemark = ({ refusal }: StartedSession): string =>
  `The agent started a new conversation, because ${refusal === undefined ? 'it cannot resume the earlier one.' : `it could not load the earlier one: ${refusal}`} The agent received all messages of people again.`
