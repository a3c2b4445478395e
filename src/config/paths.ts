import { homedir } from 'node:os'
import { join } from 'node:path'

/** The folder with the database, attachments and `daemon.json`: BOARD_DATA_DIR, or the platform's place for data. */
export function dataFolder(env: NodeJS.ProcessEnv = process.env): string {
  if (env.BOARD_DATA_DIR) return env.BOARD_DATA_DIR
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'board')
  if (process.platform === 'win32') return join(env.LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local'), 'board')
  return join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'board')
}

/** The file in which a running daemon stores its URL, PID and local token. */
export const runtimeFile = (dataDir: string): string => join(dataDir, 'daemon.json')

/** The output of a background server. */
export const serverOutputFile = (dataDir: string): string => join(dataDir, 'logs', 'server.out')

/**
 * The contents of `daemon.json`. Its mode is 0600, because the token acts as super_admin. `mark` identifies the process with that
 * PID (`processMark`); `args` are those of `board serve`, for a restart. `worktreeRoot` is the root for new worktrees, if not in
 * the data folder. `certificate` is the server's own as PEM, the only one that its clients accept.
 */
export interface Runtime {
  url: string
  certificate?: string
  pid: number
  mark?: string
  token: string
  version: string
  startedAt: string
  args?: string[]
  worktreeRoot?: string
}
