import { end, type Agents, type Ending } from '../../domain/agents/sessions.ts'
import { awaitAnswer, listQuestions } from '../../domain/agents/sessionWaits.ts'
import type { Transaction } from '../../store/engine/database.ts'
import type { SessionRow } from '../../store/agents/sessions.ts'
import { addMessage, transcriptOf } from '../transcript/transcriptWriter.ts'

const staysOpen = 'The question to people stays open. Its answer continues the session.'

/** Ends a session whose turn was interrupted. If questions to people are open, the session waits for the answer, which continues it. */
export async function endOrAwaitAnswer(
  tx: Transaction,
  agents: Agents,
  session: SessionRow,
  ending: Ending,
): Promise<void> {
  const [oldest, ...others] = session.endedAt === null ? listQuestions(session) : []
  if (oldest && (await awaitAnswer(tx, agents, session, [oldest, ...others], session))) {
    await addMessage(tx, transcriptOf(session), 'system', staysOpen)
    return
  }
  await end(tx, agents, session.id, ending, ending.status !== 'cancelled')
}
