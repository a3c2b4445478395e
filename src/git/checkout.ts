import { rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { git, gitOutput, nulSeparated, type GitOptions } from './git.ts'
import { makeGitDir, readSettings } from './quarantine.ts'
import type { Repository } from './repository.ts'

/** Runs git on the files and the index of a working tree. @throws GitFailed */
export type CheckoutRun = (args: readonly string[], options?: GitOptions) => Promise<Buffer>

/**
 * Changes the files of a working tree through a Git folder of the board's own making. The repository's configuration, which
 * whoever works there may write at any time, names no program that runs: no filter, hook, monitor or extension of large file
 * storage. The filters of the account's own configuration do run, and find what large file storage keeps in the repository.
 */
export async function inCheckout<T>(place: Repository, work: (run: CheckoutRun) => Promise<T>): Promise<T> {
  const settings = [...(await readSettings(place.topLevel)).settings, ...(await readPlace(place.topLevel))]
  const gitDir = await makeGitDir(tmpdir(), place, settings, sparseList)
  try {
    await symlink(join(place.commonDir, 'lfs'), join(gitDir, 'lfs'))
    const overrides = settings
      .filter(([name]) => !name.startsWith('extensions.'))
      .flatMap(([name, value]) => ['-c', `${name}=${value}`])
    return await work((args, options) =>
      // An index in two parts would point to a part that goes with the folder.
      gitOutput(place.topLevel, [...overrides, '-c', 'core.splitIndex=false', ...args], {
        ...options,
        env: {
          GIT_DIR: gitDir,
          GIT_WORK_TREE: place.topLevel,
          GIT_INDEX_FILE: join(place.gitDir, 'index'),
          GIT_NO_REPLACE_OBJECTS: '1',
          ...options?.env,
        },
      }),
    )
  } finally {
    await rm(gitDir, { recursive: true, force: true })
  }
}

const sparseList = 'info/sparse-checkout'

/** Which part of the files is wanted, and where large file storage asks for what is missing. */
async function readPlace(topLevel: string): Promise<Array<[name: string, value: string]>> {
  const { stdout } = await git(topLevel, [
    'config',
    '--null',
    '--get-regexp',
    '^(core\\.sparsecheckout(cone)?|remote\\..*\\.url)$',
  ])
  return nulSeparated(stdout)
    .map((entry): [string, string] => [entry.slice(0, entry.indexOf('\n')), entry.slice(entry.indexOf('\n') + 1)])
    .filter(([name, value]) => (name.startsWith('core.') ? /^(true|false)$/.test(value) : isPlainRemote(name, value)))
}

/** A name with "=" in it would be cut there; other transports than this one start programs. */
const isPlainRemote = (name: string, url: string) => /^remote\.[\w.-]+\.url$/.test(name) && url.startsWith('https://')
