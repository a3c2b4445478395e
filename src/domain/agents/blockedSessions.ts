import { readCard } from '../../store/cards/cards.ts'
import type { Database, Reader, Transaction } from '../../store/engine/database.ts'
import { readSession, type OpenSession, type SessionRow } from '../../store/agents/sessions.ts'
import { findBlockade } from '../cards/dependencies.ts'
import { recordBlockers } from './sessionWaits.ts'

/** The cards or the time that block a session's work. Undefined after the work has started. */
export async function findSessionBlockade(db: Reader, session: SessionRow, now: string): Promise<string | undefined> {
  if (session.purpose !== 'work' || session.startedAt !== null) return undefined
  const card = await readCard(db, session.projectId, session.cardId)
  const openBlockers = session.waitsForBlockers === 1 ? card?.openBlockers : 0
  return card && (await findBlockade(db, { ...card, openBlockers: openBlockers ?? 0 }, now))?.message
}

/** Holds a queued session while its card waits for other cards or for a time. Returns whether the session is held. */
export async function holdForCard(tx: Transaction, session: SessionRow): Promise<boolean> {
  const blockade = await findSessionBlockade(tx, session, tx.now)
  if (blockade !== undefined) await recordBlockers(tx, session, blockade)
  return blockade !== undefined
}

/** Records the cards or the time that queued sessions wait for. The other sessions wait only for a slot. */
export async function updateBlockades(db: Database, queued: readonly OpenSession[], now: string): Promise<void> {
  for (const { id, isBlocked, statusReason } of queued) {
    if (isBlocked === 0 && statusReason !== 'blocked') continue
    const session = await readSession(db, id)
    if (!session || !(await isNews(db, session, now))) continue
    await db.transaction(async tx => {
      const current = await readSession(tx, id)
      if (current?.status !== 'queued' || !(await isNews(tx, current, tx.now))) return
      await recordBlockers(tx, current, (await findSessionBlockade(tx, current, tx.now)) ?? null)
    })
  }
}

const isNews = async (db: Reader, session: SessionRow, now: string): Promise<boolean> =>
  ((await findSessionBlockade(db, session, now)) ?? null) !==
  (session.statusReason === 'blocked' ? session.slotWait : null)
