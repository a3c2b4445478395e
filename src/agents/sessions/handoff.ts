import type { InferOutput } from 'valibot'
import type { ContextRelay } from '../../contract/settings.ts'
import { begin, end, type Agents } from '../../domain/sessions.ts'
import { firstPrompt } from '../../domain/steps.ts'
import { readCard } from '../../store/cards.ts'
import type { Transaction } from '../../store/database.ts'
import type { SessionRow } from '../../store/sessions.ts'
import { moveWaitingMessages } from '../../store/waitingMessages.ts'
import { condense } from '../transcript/lastMessage.ts'
import type { RawUpdate } from '../link/agentLink.ts'

type Settings = InferOutput<typeof ContextRelay>

/** A rough measure: what a token is differs between models. */
const lettersPerToken = 4

/** What a session is asked before its end. */
export const handoffRequest = ({ maxSummaryTokens }: Settings): string =>
  `Your session ends here, and a fresh one goes on with the task. It knows nothing of this conversation. Write down for it, in at most ${maxSummaryTokens} tokens: ` +
  'the goal, what is done, what was decided and why, what is left to do, which files matter, and what to watch out for. Answer with nothing else, and use no tools.'

/** What a fresh session is told. */
export const handoffPrompt = (task: string, handoff: string, { maxSummaryTokens }: Settings): string =>
  `You take over from an earlier session. It left this handoff:\n\n${handoff.slice(0, maxSummaryTokens * lettersPerToken).toWellFormed()}\n\nGo on with the task. It is:\n\n${task}`

/** Ends a session and begins a fresh one with its handoff; messages that wait go along. Undefined when the session has ended meanwhile. */
export async function handOver(
  tx: Transaction,
  agents: Agents,
  session: SessionRow,
  handoff: string,
  settings: Settings,
): Promise<SessionRow | undefined> {
  const card = await readCard(tx, session.projectId, session.cardId)
  if (
    !card ||
    !(await end(tx, agents, session.id, {
      status: 'completed',
      summary: condense(handoff),
      detail: 'Handed over to a fresh session.',
    }))
  )
    return undefined
  const next = await begin(
    tx,
    agents,
    card,
    'board',
    handoffPrompt(await firstPrompt(tx, card), handoff, settings),
    session.purpose,
  )
  if (next) await moveWaitingMessages(tx, session.id, next.id)
  return next
}

/** Watches how full a session's context is. */
export interface ContextWatch {
  hear(update: RawUpdate): void
  /** Whether it has passed the threshold. A session that began beyond it is left alone: a fresh one would be no better. */
  isFull(settings: Settings): boolean
}

export function createContextWatch(): ContextWatch {
  let percent: number | undefined
  let lowest = Infinity
  return {
    hear({ sessionUpdate, used, size }) {
      if (sessionUpdate !== 'usage_update' || typeof used !== 'number' || typeof size !== 'number' || !(size > 0))
        return
      percent = (used * 100) / size
      lowest = Math.min(lowest, percent)
    },
    isFull: ({ enabled, thresholdPercent }) =>
      enabled && percent !== undefined && percent >= thresholdPercent && lowest < thresholdPercent,
  }
}
