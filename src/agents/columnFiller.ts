import type { Log } from '../config/log.ts'
import { find } from '../domain/cards/cards.ts'
import { changeCard } from '../domain/cards/cardChanges.ts'
import { pull, startReady } from '../domain/cards/cardMoves.ts'
import { findTurn } from '../domain/cards/cardTurns.ts'
import type { Agents } from '../domain/agents/sessions.ts'
import type { Outbox } from '../events/outbox.ts'
import { createReconciler } from '../process/reconciler.ts'
import { listProjectsWithTurns } from '../store/boards/columnTurns.ts'
import type { Database, Transaction } from '../store/engine/database.ts'
import { readLastSeq } from '../store/server/events.ts'
import { advanceCard } from './sessions/advancePipeline.ts'
import type { Supervisor } from './sessions/agentSupervisor.ts'

/** How long events are batched. The interval is longer if each check is a request to a database server. */
const [batchMs, sharedBatchMs] = [20, 100]
/** The maximum number of agents that one transaction starts, because a libSQL server ends long transactions. */
const maxTurnsPerCommit = 10

/**
 * Advances cards when there is capacity: cards in auto mode that wait for a full column, and cards in the column before a column that pulls
 * cards. Cards furthest along come first, and within a column the card at the top. The state is in the database, so a new server continues
 * where a stopped one left off.
 */
export interface ColumnFiller {
  /** Fills every column of this machine's projects, and then, after each event, the columns of the projects with changes. */
  start(server: { log: Log }): void
  stop(): Promise<void>
}

export function createColumnFiller({
  db,
  outbox,
  supervisor,
}: {
  db: Database
  outbox: Outbox
  supervisor: Supervisor
}): ColumnFiller {
  let seen = -1
  const fillColumns = async (projectId: number) => {
    while (!reconciler.isOver && (await findTurn(db, projectId))) {
      await supervisor.refresh()
      await db.transaction(tx => takeTurns(tx, supervisor, projectId))
    }
  }
  const fillChanged = async () => {
    const last = await readLastSeq(db)
    const filled = await Promise.allSettled((await listProjectsWithTurns(db, seen)).map(fillColumns))
    const failed = filled.find(({ status }) => status === 'rejected')
    if (failed) throw (failed as PromiseRejectedResult).reason
    if (!reconciler.isOver) seen = last
  }
  const debounceMs = db.isShared ? sharedBatchMs : batchMs
  const reconciler = createReconciler<{ log: Log }>('Columns', fillChanged, { outbox, debounceMs })
  return { start: reconciler.start, stop: reconciler.end }
}

async function takeTurns(tx: Transaction, agents: Agents, projectId: number): Promise<void> {
  for (let taken = 0; taken < maxTurnsPerCommit; taken++) {
    const next = await findTurn(tx, projectId)
    if (!next) return
    const ref = { projectId, cardId: next.turn.cardId }
    const card = await find(tx, ref)
    if (card.nextColumnId === null) {
      await pull(tx, agents, card, next.column)
      continue
    }
    await (card.columnType === 'active' ? advanceCard(tx, agents, card) : startReady(tx, agents, card))
    // The card does not move if its board no longer has a done column, or if its auto mode is off.
    const after = await find(tx, ref)
    if (after.columnId === card.columnId && after.nextColumnId === next.column.id)
      await changeCard(tx, after, { nextColumnId: null })
  }
}
