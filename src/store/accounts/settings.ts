import type { Reader, Transaction } from '../engine/database.ts'

/** A group of an account's settings as JSON text. Undefined if no setting was changed. */
export const readUserSetting = async (db: Reader, userId: number, name: string): Promise<string | undefined> =>
  (await db.get<{ value: string }>('SELECT value FROM user_settings WHERE user_id = ? AND name = ?', [userId, name]))
    ?.value

export const writeUserSetting = async (tx: Transaction, userId: number, name: string, value: string): Promise<void> => {
  await tx.run(
    'INSERT INTO user_settings (user_id, name, value) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
    [userId, name, value],
  )
}
