import type { ServerConfig } from './server.ts'

/** What `board serve` takes from flags and environment; the rest has defaults. Paths may be relative. */
export type ServeOptions = Partial<
  Omit<
    ServerConfig,
    | 'database'
    | 'tls'
    | 'clock'
    | 'lookup'
    | 'socketTables'
    | 'webhookTiming'
    | 'externalRequestsPerMinute'
    | 'maxTransfers'
    | 'monitorTimeoutMs'
    | 'usageLimitTiming'
    | 'agentQuietMs'
    | 'earlierWorktreeRoots'
    | 'fetchTimeoutMs'
    | 'forgePolling'
    | 'secretKey'
    | 'oauthClients'
  >
> & { database?: string; machine?: string; advertise?: string; cert?: string; key?: string }

/** What a backup file was found to hold. Sizes are bytes. */
export interface VerifiedBackup {
  filename: string
  size: number
  sha256: string
  createdAt: string
  version: string
  schemaVersion: number
  withKey: boolean
  databaseSize: number
  attachments: number
  missing: number
}

/** Called with the number of bytes that were read so far. */
export type OnProgress = (bytes: number) => void

/** Moves a whole board between a data folder and a libSQL server. */
export interface DatabaseMove {
  dataDir: string
  /** The libSQL server, and the token that it wants. */
  server: { url: string; token?: string }
  /** This machine's name among those that share the server's database. */
  machine: string
  /** Deletes the board that the server holds. */
  replace?: boolean
  /** Only counts the rows. */
  dryRun?: boolean
  onProgress?: (rows: number, of: number) => void
}

/** What was copied, or would be. */
export interface MovedDatabase {
  rows: number
  tables: { table: string; rows: number; sha256: string }[]
  keptAs: string | null
}

/** The server's program as the command line uses it: to serve, and to work on a data folder that no server holds. */
export interface ServerProgram {
  /**
   * Runs a server in the foreground until SIGTERM or SIGINT. Resolves to its URL once it answers; the process ends after the drain.
   * @throws Problem SERVER_ALREADY_RUNNING, or the error of listening
   */
  runServe(options: ServeOptions, onTerminal: boolean): Promise<string>
  findDamage(databasePath: string, withIndexes?: boolean): Promise<string | undefined>
  /** Finds the repository that would add a folder's files, and what to do. Undefined if there is none. */
  findAddingRepository(folder: string): Promise<{ topLevel: string; advice: string } | undefined>
  findFile(wanted: string, dataDir: string): Promise<string>
  findNewest(dataDir: string): Promise<string | undefined>
  verifyFile(path: string, onProgress?: OnProgress): Promise<VerifiedBackup>
  restoreFile(
    path: string,
    dataDir: string,
    onProgress?: OnProgress,
  ): Promise<{ filename: string; keptAs: string | null }>
  moveToServer(move: DatabaseMove, backup?: string): Promise<MovedDatabase>
  moveFromServer(move: DatabaseMove): Promise<MovedDatabase>
}
