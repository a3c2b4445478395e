import type { LandingStatus } from '../../contract/forges/landings.ts'
import type { CardRow } from '../cards/cards.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import { defineRecord, flag, id, text, type Change, type NewRow, type Row } from '../engine/record.ts'

export const landingFields = {
  id: id(),
  projectId: id(),
  cardId: id(),
  cardTitle: text().computed('c.title'),
  /** The target branch. */
  branch: text(),
  squash: flag(),
  status: text<LandingStatus>().initially('waiting'),
  /** Why the card waits or was rejected. */
  reason: text().orNull(),
  /** Whether the card's agent fixes the reason of the rejection. When it has finished, the card waits at its former place. */
  withAgent: flag().initially(false),
  requestedBy: text(),
  /** The branch's commit before the merge, the merged commit, and the commit of the card's branch. */
  baseCommit: text().orNull(),
  mergeCommit: text().orNull(),
  head: text().orNull(),
  createdAt: text().initiallyNow(),
  startedAt: text().orNull(),
  finishedAt: text().orNull(),
}
export type LandingRow = Row<typeof landingFields>
export type LandingChange = Change<typeof landingFields>

const record = defineRecord('landings', 'g', landingFields)
const select = `SELECT ${record.columns} FROM landings g JOIN cards c ON c.id = g.card_id`
const isOpen = `g.status IN ('waiting', 'testing')`
/** The number of finished landings that a list contains. */
const shownFinished = 50

export const readLanding = (db: Reader, id: number): Promise<LandingRow | undefined> =>
  db.get(`${select} WHERE g.id = ?`, [id])

/** The landings of a project: the open ones in their order, then the latest finished ones. */
export const listLandings = (db: Reader, projectId: number): Promise<LandingRow[]> =>
  db.all(
    `${select} WHERE g.project_id = ?1 AND c.deleted_at IS NULL
       AND (${isOpen} OR g.id IN (SELECT id FROM landings WHERE project_id = ?1 ORDER BY id DESC LIMIT ${shownFinished}))
     ORDER BY ${isOpen} DESC, iif(${isOpen}, g.id, -g.id)`,
    [projectId],
  )

/** A card's landing that is open, or whose rejection its agent fixes. */
export const readOpenLanding = (db: Reader, cardId: number): Promise<LandingRow | undefined> =>
  db.get(`${select} WHERE g.card_id = ? AND (${isOpen} OR g.with_agent = 1)`, [cardId])

/** An open landing with the state of its card and project. */
export type QueuedLanding = LandingRow & {
  cardStatus: CardRow['status']
  isPaused: number
}
/** The landings of this machine's projects that are open or with an agent, in the order of the queue. */
export const listQueuedLandings = (db: Reader): Promise<QueuedLanding[]> =>
  db.all(
    `SELECT ${record.columns}, c.status AS cardStatus, p.landing_paused AS isPaused
     FROM landings g JOIN cards c ON c.id = g.card_id JOIN projects p ON p.id = g.project_id
     WHERE (${isOpen} OR g.with_agent = 1) AND p.host IS ? ORDER BY g.id`,
    [db.host],
  )

/** The cards of this machine's projects that wait for the landing queue and are not in it. */
export const listAwaitingLanding = (db: Reader): Promise<Array<{ projectId: number; cardId: number }>> =>
  db.all(
    `SELECT c.project_id AS projectId, c.id AS cardId FROM cards c INDEXED BY cards_to_land JOIN projects p ON p.id = c.project_id
     WHERE c.status_reason = 'landing' AND c.status = 'completed' AND c.deleted_at IS NULL AND p.host IS ?
       AND NOT EXISTS (SELECT 1 FROM landings g WHERE g.card_id = c.id AND (${isOpen} OR g.with_agent = 1)) ORDER BY c.ended_at, c.id`,
    [db.host],
  )

export const insertLanding = (tx: Transaction, landing: NewRow<typeof landingFields>): Promise<number> =>
  record.insert(tx, landing)
export const updateLanding = (tx: Transaction, id: number, change: LandingChange): void => record.update(tx, id, change)
