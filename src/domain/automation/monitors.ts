import { Problem } from '../../contract/errors.ts'
import { monitorLimits } from '../../contract/automation/monitors.ts'
import { appendEvent } from '../../events/outbox.ts'
import type { CardRow } from '../../store/cards/cards.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import {
  countMonitors,
  deleteMonitor,
  insertMonitor,
  listCardMonitors,
  readMonitor,
  readVisibleMonitor,
  updateMonitor,
  type MonitorRow,
  type NewMonitor,
} from '../../store/automation/monitors.ts'
import { monitor as view } from '../../views/monitors.ts'
import { announceCard } from '../cards/cardChanges.ts'
import * as cards from '../cards/cards.ts'
import type { CardRef } from '../cards/cards.ts'
import { announceQuestion } from './monitorQuestions.ts'

/** A new monitor, and the session that requested it. */
export type CheckedMonitor = NewMonitor & { sessionId: number | null }

/**
 * Creates a monitor that has been checked; it is due at once if it is allowed.
 * @throws Problem CARD_NOT_FOUND, MONITOR_TERMINAL_CARD_UNSUPPORTED, MONITOR_CARD_INACTIVE, MONITOR_LIMIT_REACHED
 */
export async function create(tx: Transaction, { sessionId, ...monitor }: CheckedMonitor): Promise<MonitorRow> {
  const { id: cardId } = await requireActive(tx, monitor)
  if ((await countMonitors(tx, cardId)) >= monitorLimits.maxPerCard) throw new Problem('MONITOR_LIMIT_REACHED')
  const id = await insertMonitor(tx, monitor)
  if (monitor.permission === 'asked') await updateMonitor(tx, id, { nextRunAt: null })
  const row = (await readMonitor(tx, id))!
  await appendEvent(tx, 'monitor.created', row.projectId, view(row))
  if (row.permission === 'asked' && sessionId !== null) await announceQuestion(tx, row, sessionId)
  return row
}

/** A card's monitors in the order of their creation. @throws Problem CARD_NOT_FOUND */
export const list = async (db: Reader, ref: CardRef): Promise<MonitorRow[]> =>
  listCardMonitors(db, (await cards.find(db, ref)).id)

/**
 * Deletes a monitor of a project, or of one of its cards, with its question. Its run is ended soon.
 * @throws Problem CARD_NOT_FOUND, MONITOR_NOT_FOUND
 */
export async function remove(
  tx: Transaction,
  { projectId, cardId, monitorId }: { projectId: number; cardId?: number; monitorId: number },
): Promise<void> {
  if (cardId !== undefined) await cards.find(tx, { projectId, cardId })
  const row = await readVisibleMonitor(tx, projectId, monitorId)
  if (!row || (cardId !== undefined && row.cardId !== cardId)) throw new Problem('MONITOR_NOT_FOUND')
  await deleteMonitor(tx, row.id)
  await appendEvent(tx, 'monitor.deleted', projectId, { id: String(row.id), cardId: String(row.cardId) })
  if (row.permission === 'asked') await announceCard(tx, 'card.updated', { id: row.cardId, projectId })
}

/** @throws Problem CARD_NOT_FOUND, MONITOR_TERMINAL_CARD_UNSUPPORTED, MONITOR_CARD_INACTIVE */
export async function requireActive(db: Reader, ref: CardRef): Promise<CardRow> {
  const card = await cards.find(db, ref)
  if (card.kind === 'terminal') throw new Problem('MONITOR_TERMINAL_CARD_UNSUPPORTED')
  if (card.kind !== 'kanban' || card.archivedAt !== null || card.columnType !== 'active')
    throw new Problem('MONITOR_CARD_INACTIVE')
  return card
}
