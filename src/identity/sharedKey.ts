import { Problem } from '../contract/errors.ts'
import type { Database } from '../store/engine/database.ts'
import { readServerSetting, writeServerSetting } from '../store/server/serverSettings.ts'
import type { Seal } from './seal.ts'

const [name, place] = ['sealing-key', 'server_settings/sealing-key']

/**
 * Requires the same sealing key of all daemons on a database. The first daemon stores a sealed word for the check.
 * @throws Problem SEALED_WITH_OTHER_KEY
 */
export async function requireSharedKey(db: Database, seal: Seal): Promise<void> {
  const sealed =
    (await readServerSetting(db, name)) ??
    (await db.transaction(async tx => {
      const before = await readServerSetting(tx, name)
      if (before === undefined) await writeServerSetting(tx, name, seal.seal(place, 'board'))
      return before
    }))
  if (sealed === undefined) return
  try {
    seal.open(place, sealed)
  } catch (error) {
    throw new Problem(
      'SEALED_WITH_OTHER_KEY',
      'The secrets of this board are encrypted with another key. Start this server with the BOARD_SECRET_KEY of the other servers, or with the content of secret.key in the data folder of the first one.',
      { cause: error },
    )
  }
}
