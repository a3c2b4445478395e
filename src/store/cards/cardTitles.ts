import type { Reader } from '../engine/database.ts'

/** Null for a card that is deleted for good. */
export const readCardTitle = async (db: Reader, id: number): Promise<string | null> =>
  (await db.get<{ title: string }>('SELECT title FROM cards WHERE id = ?', [id]))?.title ?? null
