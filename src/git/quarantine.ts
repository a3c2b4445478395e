import { constants } from 'node:fs'
import { chmod, mkdir, mkdtemp, open, readdir, realpath, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { git, GitFailed, gitOutput, nulSeparated, type GitOptions } from './git.ts'
import { findRepository, type Repository } from './repository.ts'

/**
 * A worktree seen through a Git folder of the board's own making, which borrows the repository's objects and a copy of the
 * worktree's index. The repository's configuration has no part in it: filters, external diffs, monitors and hooks that
 * somebody planted are names without a meaning here.
 */
export interface Quarantine {
  /** The Git folder of the board's own making. */
  gitDir: string
  topLevel: string
  /** The commit that is checked out, or undefined before the first one. */
  head: string | undefined
  /** Every branch, remote branch and tag, and the object that it names. */
  refs(): Promise<ReadonlyArray<{ name: string; id: string }>>
  run(args: readonly string[], options?: GitOptions): Promise<Buffer>
  close(): Promise<void>
}

const maxIndexBytes = 512 * 1024 * 1024
const maxListBytes = 1024 * 1024
/** How files are compared. None of it can start a program. */
const copiedSettings =
  /^(core\.(autocrlf|eol|safecrlf|filemode|symlinks|ignorecase|precomposeunicode|protecthfs|protectntfs|checkstat|trustctime|bigfilethreshold)|extensions\.objectformat)$/

/**
 * Opens a worktree in quarantine. `folder` is where the Git folder of its own is made. `known` is the worktree's repository, if it was just looked for.
 * A folder that is no worktree (any more) is seen as one with no commits, in which every file is new.
 * @throws GitFailed, or the file system's error
 */
export async function openQuarantine(worktreePath: string, folder: string, known?: Repository): Promise<Quarantine> {
  const topLevel = await realpath(worktreePath)
  const found = known ?? (await findRepository(topLevel))
  const repository = found?.topLevel === topLevel ? found : undefined
  const { settings, personal } = repository ? await readSettings(topLevel) : noSettings
  const gitDir = await makeGitDir(folder, repository, settings)
  const env = {
    GIT_DIR: gitDir,
    GIT_WORK_TREE: topLevel,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
  }
  const overrides = [...settings.filter(([name]) => name.startsWith('core.')), ...personal].flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ])
  const run: Quarantine['run'] = (args, options) =>
    gitOutput(topLevel, [...overrides, '-c', 'core.attributesFile=/dev/null', ...args], {
      ...options,
      env: { ...env, ...options?.env },
    })
  let refs: ReturnType<Quarantine['refs']> | undefined
  return {
    gitDir,
    topLevel,
    head: repository?.head,
    run,
    refs: () => (refs ??= repository ? readRefs(topLevel) : Promise.resolve([])),
    close: () => rm(gitDir, { recursive: true, force: true }),
  }
}

type Settings = Array<[name: string, value: string]>
const noSettings: { settings: Settings; personal: Settings } = { settings: [], personal: [] }

/** How the repository compares files, and the ignore list of the account. Each setting is "scope NUL name LF value NUL". */
export async function readSettings(topLevel: string): Promise<typeof noSettings> {
  const { stdout } = await git(topLevel, ['config', '--null', '--show-scope', '--get-regexp', '^(core|extensions)\\.'])
  const parts = nulSeparated(stdout)
  const all = parts.flatMap((entry, index) =>
    index % 2 === 0
      ? []
      : [
          {
            scope: parts[index - 1],
            name: entry.slice(0, entry.indexOf('\n')).toLowerCase(),
            value: entry.slice(entry.indexOf('\n') + 1),
          },
        ],
  )
  const settings = all
    .filter(({ name, value }) => copiedSettings.test(name) && /^[a-z0-9]{1,20}$/i.test(value))
    .map(({ name, value }): Settings[number] => [name, value])
  return {
    settings,
    personal: all.some(({ scope, name }) => scope === 'global' && name === 'core.excludesfile')
      ? await readPersonal(topLevel)
      : [],
  }
}

/** The ignore list that the account's own configuration names. */
async function readPersonal(topLevel: string): Promise<Settings> {
  const { exitCode, stdout } = await git(topLevel, ['config', '--global', '--type=path', '--get', 'core.excludesFile'])
  return exitCode === 0 ? [['core.excludesFile', stdout.toString().trimEnd()]] : []
}

async function readRefs(topLevel: string): ReturnType<Quarantine['refs']> {
  const output = await gitOutput(
    topLevel,
    ['for-each-ref', '--format=%(objectname) %(refname)', 'refs/heads', 'refs/remotes', 'refs/tags'],
    { maxBytes: 64 * 1024 * 1024 },
  )
  return output
    .toString()
    .split('\n')
    .slice(0, -1)
    .map(line => ({ id: line.slice(0, line.indexOf(' ')), name: line.slice(line.indexOf(' ') + 1) }))
}

/** @param more a file of the worktree's own Git folder that belongs to it as well */
export async function makeGitDir(
  folder: string,
  repository: Repository | undefined,
  settings: Settings,
  more?: string,
): Promise<string> {
  const gitDir = await mkdtemp(join(folder, 'board-git-'))
  try {
    await chmod(gitDir, 0o700)
    await fillGitDir(gitDir, repository, settings)
    if (repository && more !== undefined)
      await copyPlain(join(repository.gitDir, more), join(gitDir, more), maxListBytes)
    return gitDir
  } catch (error) {
    await rm(gitDir, { recursive: true, force: true })
    throw error
  }
}

async function fillGitDir(gitDir: string, repository: Repository | undefined, settings: Settings): Promise<void> {
  for (const part of ['objects/info', 'refs', 'info']) await mkdir(join(gitDir, part), { recursive: true })
  const format = settings
    .filter(([name, value]) => name === 'extensions.objectformat' && /^sha(1|256)$/.test(value))
    .at(-1)?.[1]
  await writeFile(join(gitDir, 'HEAD'), 'ref: refs/heads/board-quarantine\n')
  await writeFile(
    join(gitDir, 'config'),
    `[core]\n\trepositoryformatversion = ${format ? 1 : 0}\n\tbare = false\n${format ? `[extensions]\n\tobjectformat = ${format}\n` : ''}`,
  )
  if (!repository) return
  await writeFile(join(gitDir, 'objects/info/alternates'), `${join(repository.commonDir, 'objects')}\n`)
  const shared = (await readdir(repository.gitDir)).filter(name => name.startsWith('sharedindex.'))
  for (const name of ['index', ...shared])
    await copyPlain(join(repository.gitDir, name), join(gitDir, name), maxIndexBytes)
  await copyPlain(join(repository.commonDir, 'shallow'), join(gitDir, 'shallow'), maxIndexBytes)
  for (const name of ['info/exclude', 'info/attributes'])
    await copyPlain(join(repository.commonDir, name), join(gitDir, name), maxListBytes)
}

/** Copies a plain file that may be missing. A link, pipe or device in its place is left alone. */
async function copyPlain(from: string, to: string, maxBytes: number): Promise<void> {
  const file = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => undefined)
  if (!file) return
  try {
    const stats = await file.stat()
    if (!stats.isFile()) return
    if (stats.size > maxBytes)
      throw new GitFailed('output', `A file of the repository has ${stats.size} bytes; at most ${maxBytes} are read.`)
    await writeFile(
      to,
      stats.size === 0 ? '' : file.createReadStream({ autoClose: false, start: 0, end: stats.size - 1 }),
      { mode: 0o600 },
    )
    // Git compares the index's own time with the files' to tell which of them must be read again.
    await utimes(to, Math.floor(stats.atimeMs / 1000), Math.floor(stats.mtimeMs / 1000))
  } finally {
    await file.close()
  }
}
