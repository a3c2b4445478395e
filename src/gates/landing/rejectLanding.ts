import { conflictMessage } from '../../agents/sessions/resolveConflicts.ts'
import { closing, continueInRound, describeFailure, isOfBoard } from '../gateRounds.ts'
import type { GateDependencies } from '../gateRunner.ts'
import type { Problem } from '../../contract/errors.ts'
import { change, endAwaitedLanding, isOpen } from '../../domain/cards/landings.ts'
import { readCard } from '../../store/cards/cards.ts'
import type { Transaction } from '../../store/engine/database.ts'
import { readLanding, type LandingRow } from '../../store/forges/landings.ts'
import type { TestFailure } from './mergeTest.ts'

/** Why a card does not land. The card's agent can fix a conflict, or the failure of a gate. */
export interface Rejection {
  reason: string
  conflict?: Problem
  failure?: Extract<TestFailure, { proof: unknown }>
  /** The commit of the target branch. */
  base?: string
}

/** Rejects an entry of the queue. The card's agent continues with the reason if it can fix it and the card has a round left. */
export async function rejectLanding(
  { db, supervisor }: Pick<GateDependencies, 'db' | 'supervisor'>,
  { id, projectId, cardId, branch }: LandingRow,
  rejection: Rejection,
): Promise<void> {
  await supervisor.refresh()
  await db.transaction(async tx => {
    const [row, card] = [await readLanding(tx, id), await readCard(tx, projectId, cardId)]
    if (!row || !isOpen(row)) return
    const text = card && (await describe(tx, rejection))
    const withAgent =
      text !== undefined &&
      (await continueInRound(
        tx,
        supervisor,
        card!,
        round => `Your work could not be merged into ${branch} (${round}).\n\n${text}`,
      ))
    await change(tx, id, { status: 'rejected', reason: rejection.reason, withAgent, finishedAt: tx.now })
    const gate = rejection.failure?.gate.name ?? 'merge'
    if (!withAgent)
      await endAwaitedLanding(tx, row, { gate, reason: `The work could not be merged. ${rejection.reason}` })
  })
}

/** The message to the agent. Undefined if the agent cannot fix the reason. */
async function describe(tx: Transaction, { conflict, failure, base = '' }: Rejection): Promise<string | undefined> {
  if (conflict) return conflictMessage({ repository: '', problem: conflict, baseCommit: base, titles: [] }, 'merge')
  if (!failure || isOfBoard(failure.proof)) return undefined
  const text = await describeFailure(tx, failure.gate, failure.proof)
  return `The gates ran on the merge of your work with the commit ${base}. ${text}\n\nTo see the failure, run \`git merge ${base}\`. ${closing}`
}
