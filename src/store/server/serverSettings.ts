import type { Reader, Transaction } from '../engine/database.ts'

/** A group of the server's settings as JSON text. Undefined if no setting was changed. */
export const readServerSetting = async (db: Reader, name: string): Promise<string | undefined> =>
  (await db.get<{ value: string }>('SELECT value FROM server_settings WHERE name = ?', [name]))?.value

export const writeServerSetting = async (tx: Transaction, name: string, value: string): Promise<void> => {
  await tx.run(
    'INSERT INTO server_settings (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
    [name, value],
  )
}

/** Resets a group to its defaults. */
export const deleteServerSetting = async (tx: Transaction, name: string): Promise<void> => {
  await tx.run('DELETE FROM server_settings WHERE name = ?', [name])
}
