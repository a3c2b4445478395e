import { backoffMs } from '../../../async/backoff.ts'
import type { ServerConfig } from '../../../config/server.ts'
import { firstPrompt } from '../../../domain/cards/pipelineSteps.ts'
import type { Agents } from '../../../domain/agents/sessions.ts'
import { shownTime } from '../../../domain/cards/shownTime.ts'
import { requeueUntil, supersedeSession } from '../../../domain/agents/sessionWaits.ts'
import { bySystem, insertAuditRow } from '../../../store/server/audit.ts'
import { readCard } from '../../../store/cards/cards.ts'
import type { Transaction } from '../../../store/engine/database.ts'
import { updateSession, type SessionRow } from '../../../store/agents/sessions.ts'
import { addMessage, transcriptOf } from '../../transcript/transcriptWriter.ts'
import { candidatesFor, insteadOf, isSameChoice, readUsageLimits, type Candidate } from './chooseAgent.ts'
import { handOver, promptAfter } from './queuedMessages.ts'
import type { RunDependencies } from '../runDependencies.ts'

const maxWaits = 20

/** A usage limit that an agent has reached. */
export interface ReachedLimit {
  /** When the limit ends, if the agent reports it. */
  limitEndsAt: string | null
  /** Whether the agent made progress before the limit. */
  progressed: boolean
}
type Dependencies = Pick<RunDependencies, 'agents' | 'catalogue'> & { config: Pick<ServerConfig, 'usageLimitTiming'> }

/**
 * As the project's settings require, continues a session that has reached a usage limit: later, or now with the next agent. Returns false
 * if the session does not continue, because the setting is stop, the session is not work on a card, or it has waited too often without
 * progress.
 */
export async function continueAfterLimit(
  tx: Transaction,
  { agents, catalogue, config }: Dependencies,
  session: SessionRow,
  { limitEndsAt, progressed }: ReachedLimit,
): Promise<boolean> {
  const limitWaits = progressed ? 1 : session.limitWaits + 1
  const notBefore = nextAttempt(tx.now, limitEndsAt, limitWaits, config.usageLimitTiming)
  await updateSession(tx, session.id, { limitEndsAt, notBefore })
  const card = await readCard(tx, session.projectId, session.cardId)
  const limits = await readUsageLimits(tx, session.projectId)
  if (!card || session.purpose !== 'work' || limits.onLimit === 'stop' || limitWaits > maxWaits) return false
  const next =
    limits.onLimit === 'next' ? firstAvailable(await candidatesFor(catalogue, tx, card, limits, tx.now)) : undefined
  if (!next || isSameChoice(next, session)) {
    const detail = limitEndsAt
      ? `Waits for the usage limit to end at ${shownTime(notBefore)}.`
      : `Waits for the usage limit to end. Its end is unknown. The next try is at ${shownTime(notBefore)}.`
    if (!(await requeueUntil(tx, agents, session, { detail, notBefore, limitEndsAt, limitWaits }))) return false
    await addMessage(tx, transcriptOf(session), 'system', detail)
  } else if (!(await continueSession(tx, agents, session, next, { card, limitEndsAt, limitWaits }))) return false
  insertAuditRow(tx, bySystem('agents.continue', { kind: 'card', id: card.id }, 'usage limit'))
  return true
}

/** A new session of another agent takes over the task and the waiting messages. */
async function continueSession(
  tx: Transaction,
  agents: Agents,
  session: SessionRow,
  next: Candidate,
  {
    card,
    limitEndsAt,
    limitWaits,
  }: { card: Parameters<typeof firstPrompt>[1]; limitEndsAt: string | null; limitWaits: number },
): Promise<boolean> {
  const prompt = await promptAfter(tx, await firstPrompt(tx, card), session)
  const waits = next.limitedUntil ? ` It waits for its own usage limit to end at ${shownTime(next.limitedUntil)}.` : ''
  const remark = insteadOf(next, session, limitEndsAt) + waits
  const notBefore = next.limitedUntil ?? null
  const begun = await supersedeSession(tx, agents, session, { ...next, remark }, { prompt, notBefore, limitWaits })
  if (begun) await handOver(tx, session, begun)
  return begun !== undefined
}

/** The first candidate that is available, or the one that becomes available first. */
const firstAvailable = (candidates: readonly Candidate[]): Candidate | undefined =>
  candidates.find(each => each.limitedUntil === undefined) ??
  candidates.toSorted((a, b) => (a.limitedUntil! < b.limitedUntil! ? -1 : 1))[0]

/** The end of the limit, with a minimum delay between attempts. If the end is unknown, a delay that doubles with each attempt. */
function nextAttempt(
  now: string,
  limitEndsAt: string | null,
  waits: number,
  { firstMs, maxMs, repeatMs }: ServerConfig['usageLimitTiming'],
): string {
  const at = (ms: number) => new Date(Date.parse(now) + ms).toISOString()
  if (limitEndsAt === null) return at(backoffMs(waits, { firstMs, maxMs }))
  const soonest = waits === 1 ? now : at(backoffMs(waits - 1, { firstMs: repeatMs, maxMs: firstMs }))
  return limitEndsAt > soonest ? limitEndsAt : soonest
}
