import {
  accessSync,
  constants,
  existsSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { invalid } from '../contract/errors.ts'
import { folderReason, isWithin, makePrivateFolder } from '../config/folders.ts'
import type { ServerConfig } from '../config/server.ts'
import { worktreesFolder } from './worktreePlaces.ts'

/** The file in the data folder that lists all roots ever used, because their worktrees stay where they are. */
const rootsName = 'worktree-roots.json'
/** The file in a root that names its board, because two boards would use the same folders for their cards. */
const ownerName = '.board-root'

/**
 * The folders of worktrees outside of the data folder: the configured one, and those that were used before.
 * @throws Problem VALIDATION_FAILED
 */
export function takeWorktreeRoots(
  config: Pick<ServerConfig, 'dataDir' | 'database' | 'worktreeRoot'>,
): Pick<ServerConfig, 'worktreeRoot' | 'earlierWorktreeRoots'> {
  const worktreeRoot = config.worktreeRoot === undefined ? undefined : takeRoot(config, config.worktreeRoot)
  return { worktreeRoot, earlierWorktreeRoots: readRoots(config.dataDir).filter(root => root !== worktreeRoot) }
}

/**
 * Takes the folder for new worktrees, and creates it if it is missing. It must belong to this account and this board, contain
 * only worktrees, and not be in a Git repository: Git would treat worktrees as its files, or remove them.
 * @returns its path without links
 */
function takeRoot({ dataDir, database }: Pick<ServerConfig, 'dataDir' | 'database'>, root: string): string {
  // Also checked before the folder is created, so that nothing is left behind in a repository.
  requireNoRepository(root, root)
  const real = makeRoot(root)
  const data = realpathSync(dataDir)
  if (isWithin(real, realpathSync(homedir()))) throw refusedRoot(root, 'it is the home folder, or contains it')
  if (isWithin(real, data) || (isWithin(data, real) && real !== worktreesFolder(data)))
    throw refusedRoot(root, 'it is the data folder, is inside it, or contains it')
  requireNoRepository(root, real)
  if (real === worktreesFolder(data)) return real
  const { mode, uid } = statSync(real)
  if ((mode & 0o022) !== 0 || (process.getuid !== undefined && uid !== process.getuid()))
    throw refusedRoot(
      root,
      'other accounts can write to it. Use a folder that belongs to this account and that only this account can write to',
    )
  if (readdirSync(real).some(name => !name.startsWith(ownerName) && !/^\d+$/.test(name)))
    throw refusedRoot(root, 'it contains other files, but must contain only worktrees')
  takeOwnership(root, join(real, ownerName), data, database?.url)
  keepRoot(dataDir, real)
  return real
}

const refusedRoot = (root: string, reason: string) => invalid('worktree-root', `cannot be ${root}: ${reason}`)

function makeRoot(root: string): string {
  try {
    if (!existsSync(root)) makePrivateFolder(root)
    const real = realpathSync(root)
    if (!statSync(real).isDirectory()) throw refusedRoot(root, 'it is a file')
    accessSync(real, constants.W_OK | constants.X_OK)
    return real
  } catch (error) {
    const reason = folderReason((error as NodeJS.ErrnoException).code)
    throw reason === undefined ? error : refusedRoot(root, reason)
  }
}

function requireNoRepository(root: string, path: string): void {
  const repository = repositoryAround(path)
  if (repository !== undefined) throw refusedRoot(root, `it is inside the Git repository ${repository}`)
}

const repositoryAround = (folder: string): string | undefined =>
  existsSync(join(folder, '.git')) ? folder : dirname(folder) === folder ? undefined : repositoryAround(dirname(folder))

/** Boards that share a database share the root. A board whose data folder was deleted no longer has a claim. */
function takeOwnership(root: string, file: string, data: string, databaseUrl: string | undefined): void {
  const present = readIfThere(file)?.trim()
  const owner = databaseUrl ?? data
  if (present === owner) return
  if (present !== undefined && present !== data && (!isAbsolute(present) || existsSync(present)))
    throw refusedRoot(root, `it belongs to the board of ${present}. If that is no longer the case, delete ${file}`)
  writeWhole(file, `${owner}\n`)
}

function keepRoot(dataDir: string, root: string): void {
  const roots = readRoots(dataDir)
  if (!roots.includes(root)) writeWhole(join(dataDir, rootsName), JSON.stringify([...roots, root]))
}

function readRoots(dataDir: string): string[] {
  const text = readIfThere(join(dataDir, rootsName))
  if (text === undefined) return []
  const roots: unknown = JSON.parse(text)
  if (Array.isArray(roots) && roots.every(each => typeof each === 'string')) return roots
  throw new Error(`${rootsName} in the data folder is not a list of folders.`)
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Writes the file atomically, even if two daemons write it at once. */
function writeWhole(file: string, text: string): void {
  const part = `${file}.${crypto.randomUUID()}`
  writeFileSync(part, text, { mode: 0o600 })
  renameSync(part, file)
}
