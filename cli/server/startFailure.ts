import { relative, resolve } from 'node:path'
import { folderReason, isWithin } from '../../src/config/folders.ts'
import { dataFolder } from '../../src/config/paths.ts'
import { Failure, usage } from '../failures/failure.ts'

/** The options of `board serve` that can cause a startup failure. */
interface StartOptions {
  host?: string
  port?: number
  https?: boolean
  cert?: string
  key?: string
  dataDir?: string
  database?: string
}

/**
 * Requires a certificate for HTTPS. None is generated, because users could not distinguish it from an attacker's.
 * @throws Failure (usage)
 */
export function requireCertificate({ https, cert, key }: StartOptions): void {
  if (cert !== undefined && key !== undefined) return
  if (https || cert !== undefined || key !== undefined)
    throw usage(`${https ? '--https' : cert === undefined ? '--key' : '--cert'} requires --cert and --key`, {
      hint: 'for a test certificate: openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout board.key -out board.pem',
      see: 'board serve --help',
    })
}

/** Why a server could not start, in terms of its options. */
export function explainStart(error: NodeJS.ErrnoException, flags: StartOptions): unknown {
  const { host = '127.0.0.1', port = 4400, database } = flags
  const local = host === '127.0.0.1' || host === 'localhost' || host === '::1'
  if (error.code === 'EADDRINUSE' || (error.name === 'GetPortError' && local))
    return new Failure('conflict', `port ${port} is already in use`, {
      hint: 'use another --port, or --port 0 for a free one',
      cause: error,
    })
  if (error.name === 'GetPortError')
    return new Failure('conflict', `cannot listen on port ${port} of ${host}`, {
      hint: `it is in use, or ${host} is not an address of this machine`,
      cause: error,
    })
  if (error.code === 'EACCES' && error.syscall === 'listen')
    return new Failure('denied', `this account cannot listen on port ${port}`, {
      hint: 'use a --port above 1023',
      cause: error,
    })
  const dataDir = resolve(flags.dataDir ?? dataFolder())
  if (error.code === 'DISK_FULL' || error.code === 'ENOSPC')
    return new Failure('failure', `the disk of the data folder ${dataDir} is full`, {
      hint: 'free disk space and start again, or use another folder with --data-dir or BOARD_DATA_DIR',
      cause: error,
    })
  const reason = error.syscall === 'listen' ? undefined : folderReason(error.code)
  if (reason !== undefined && (error.path === undefined || isAbout(dataDir, error.path)))
    return new Failure(
      /^(EACCES|EPERM|EROFS)$/.test(error.code!) ? 'denied' : 'failure',
      `the data folder ${dataDir} cannot be used: ${partOf(dataDir, error)}${reason}`,
      {
        hint: 'use another folder with --data-dir or BOARD_DATA_DIR, or repair this one',
        cause: error,
      },
    )
  if (error.code === 'DATABASE_BUSY' && database !== undefined)
    return new Failure('unreachable', `the database server ${database} does not respond`, {
      hint: 'start it, or check the address and BOARD_DATABASE_TOKEN',
      cause: error,
    })
  if (error.code === 'DATABASE_DAMAGED')
    return new Failure('failure', error.message.replace(/^T/, 't').replace(/\.$/, ''), {
      see: 'board backups restore --help',
      cause: error,
    })
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
    return new Failure('usage', `${host} is not an address of this machine`, {
      hint: 'use another --host',
      cause: error,
    })
  return error
}

/** The file or folder in the data folder that the reason is about: `board.db: `. */
function partOf(dataDir: string, { path, dest = path }: NodeJS.ErrnoException & { dest?: string }): string {
  return dest !== undefined && dest !== dataDir && isWithin(dataDir, dest) ? `${relative(dataDir, dest)}: ` : ''
}

/** Whether a path is the folder, within it, or above it. */
const isAbout = (folder: string, path: string): boolean => isWithin(folder, path) || isWithin(path, folder)
