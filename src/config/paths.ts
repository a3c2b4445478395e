import { homedir } from 'node:os'
import { join } from 'node:path'

/** The folder that holds the database, attachments and `daemon.json`: BOARD_DATA_DIR, else the platform's place for data. */
export function dataFolder(env: NodeJS.ProcessEnv = process.env): string {
  if (env.BOARD_DATA_DIR) return env.BOARD_DATA_DIR
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'board')
  if (process.platform === 'win32') return join(env.LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local'), 'board')
  return join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'board')
}

/** The folder for what can be made again: XDG_CACHE_HOME, else the platform's place for it. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Caches', 'board')
  if (process.platform === 'win32')
    return join(env.LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local'), 'board', 'cache')
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'board')
}

/** The file in which a running daemon leaves its URL, pid and local token. */
export const runtimeFile = (dataDir: string): string => join(dataDir, 'daemon.json')

/** Where a server in the background prints. */
export const printedFile = (dataDir: string): string => join(dataDir, 'logs', 'server.out')

/** What `daemon.json` holds. It is 0600: the token acts as super_admin. `mark` says which process had that pid (`processMark`); `args` are what `board serve` was given, for a restart. `certificate` is the server's own as PEM: the only one that its clients take for it. */
export interface Runtime {
  url: string
  certificate?: string
  pid: number
  mark?: string
  token: string
  version: string
  startedAt: string
  args?: string[]
}
