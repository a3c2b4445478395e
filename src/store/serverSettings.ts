import type { Reader } from './database.ts'

/** A group of the server's settings as JSON text; undefined before anybody has changed it. */
export const readServerSetting = async (db: Reader, name: string): Promise<string | undefined> =>
  (await db.get<{ value: string }>('SELECT value FROM server_settings WHERE name = ?', [name]))?.value
