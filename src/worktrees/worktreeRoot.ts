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

/** Names in the data folder the roots that were ever used, for their worktrees stay where they are. */
const rootsName = 'worktree-roots.json'
/** Names in a root the board that it belongs to: two boards would give their cards the same folders. */
const ownerName = '.board-root'

/**
 * The folders of worktrees outside of the data folder: the one that is asked for, and those that were used before.
 * @throws Problem VALIDATION_FAILED
 */
export function takeWorktreeRoots(
  config: Pick<ServerConfig, 'dataDir' | 'database' | 'worktreeRoot'>,
): Pick<ServerConfig, 'worktreeRoot' | 'earlierWorktreeRoots'> {
  const worktreeRoot = config.worktreeRoot === undefined ? undefined : takeRoot(config, config.worktreeRoot)
  return { worktreeRoot, earlierWorktreeRoots: readRoots(config.dataDir).filter(root => root !== worktreeRoot) }
}

/**
 * Takes the folder for new worktrees, which is made if it is missing. It must be this account's own and this board's, hold nothing but
 * worktrees, and lie in no Git repository: Git would take worktrees for its files, or remove them with them.
 * @returns its path without links
 */
function takeRoot({ dataDir, database }: Pick<ServerConfig, 'dataDir' | 'database'>, root: string): string {
  // Before it is made, too: nothing is left in a repository.
  requireNoRepository(root, root)
  const real = makeRoot(root)
  const data = realpathSync(dataDir)
  if (isWithin(real, realpathSync(homedir()))) throw refused(root, 'it is the home folder, or holds it')
  if (isWithin(real, data) || (isWithin(data, real) && real !== worktreesFolder(data)))
    throw refused(root, 'it is the data folder, lies in it, or holds it')
  requireNoRepository(root, real)
  if (real === worktreesFolder(data)) return real
  const { mode, uid } = statSync(real)
  if ((mode & 0o022) !== 0 || (process.getuid !== undefined && uid !== process.getuid()))
    throw refused(root, 'others may write there: it must be a folder of this account, which nobody else may write')
  if (readdirSync(real).some(name => !name.startsWith(ownerName) && !/^\d+$/.test(name)))
    throw refused(root, 'it holds other files: it must be a folder for worktrees alone')
  takeOwnership(root, join(real, ownerName), data, database?.url)
  keepRoot(dataDir, real)
  return real
}

const refused = (root: string, reason: string) => invalid('worktree-root', `cannot be ${root}: ${reason}`)

function makeRoot(root: string): string {
  try {
    if (!existsSync(root)) makePrivateFolder(root)
    const real = realpathSync(root)
    if (!statSync(real).isDirectory()) throw refused(root, 'it is a file')
    accessSync(real, constants.W_OK | constants.X_OK)
    return real
  } catch (error) {
    const reason = folderReason((error as NodeJS.ErrnoException).code)
    throw reason === undefined ? error : refused(root, reason)
  }
}

function requireNoRepository(root: string, path: string): void {
  const repository = repositoryAround(path)
  if (repository !== undefined) throw refused(root, `it lies in the Git repository ${repository}`)
}

const repositoryAround = (folder: string): string | undefined =>
  existsSync(join(folder, '.git')) ? folder : dirname(folder) === folder ? undefined : repositoryAround(dirname(folder))

/** Those that share a database share the root. A board whose data folder is gone has no claim any more. */
function takeOwnership(root: string, file: string, data: string, databaseUrl: string | undefined): void {
  const present = readIfThere(file)?.trim()
  const owner = databaseUrl ?? data
  if (present === owner) return
  if (present !== undefined && present !== data && (!isAbsolute(present) || existsSync(present)))
    throw refused(root, `it belongs to the board of ${present}. If that is not so any more, delete ${file}`)
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

/** The file appears whole, also where two daemons write it at once. */
function writeWhole(file: string, text: string): void {
  const part = `${file}.${crypto.randomUUID()}`
  writeFileSync(part, text, { mode: 0o600 })
  renameSync(part, file)
}
