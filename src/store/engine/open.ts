import {
  translateError,
  type Database,
  type EmbeddedDatabase,
  type EmbeddedOptions,
  type RemoteOptions,
} from './database.ts'
import { openEmbedded } from './embedded.ts'

/**
 * Opens a database file, and creates the file if it does not exist.
 * @throws Problem DATABASE_DAMAGED, DISK_FULL
 */
export function openDatabase(options: EmbeddedOptions): EmbeddedDatabase {
  try {
    return openEmbedded(options)
  } catch (error) {
    throw translateError(error)
  }
}

/**
 * Opens the database of a libSQL server. Its client is loaded on demand.
 * @throws Problem UNAUTHENTICATED
 */
export async function openSharedDatabase(options: RemoteOptions): Promise<Database> {
  const [{ openRemote }, { requireAcceptedToken }] = await Promise.all([
    import('./remote/remote.ts'),
    import('./remote/openHrana.ts'),
  ])
  await requireAcceptedToken(options.url, options.token)
  return openRemote(options)
}
