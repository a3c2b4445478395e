import type { ServerConfig } from './server.ts'

/** The options of `board serve` from flags and environment; the rest has defaults. Paths can be relative. */
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

/** The properties of a backup file. Sizes are in bytes. */
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

/** Called with the number of bytes read so far. */
export type OnProgress = (bytes: number) => void

/** Moves a whole board between a data folder and a libSQL server. */
export interface DatabaseMove {
  dataDir: string
  /** The libSQL server, and its token. */
  server: { url: string; token?: string }
  /** This machine's name among those that share the server's database. */
  machine: string
  /** Whether to delete the existing board on the server. */
  replace?: boolean
  /** Whether to only count the rows. */
  dryRun?: boolean
  onProgress?: (rows: number, of: number) => void
}

/** The copied rows, or those that would be copied. */
export interface MovedDatabase {
  rows: number
  tables: { table: string; rows: number; sha256: string }[]
  keptAs: string | null
}

/** The server's program for the command line: it serves, and works on a data folder that no server uses. */
export interface ServerProgram {
  /**
   * Runs a server in the foreground until SIGTERM or SIGINT. Resolves to its URL once it responds; the process ends after the
   * drain.
   * @throws Problem SERVER_ALREADY_RUNNING, or the error of listening
   */
  runServe(options: ServeOptions, onTerminal: boolean): Promise<string>
  findDamage(databasePath: string, withIndexes?: boolean): Promise<string | undefined>
  /** Finds the repository that would add a folder's files, and how to fix this. Undefined if there is none. */
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
