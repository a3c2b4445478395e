import { rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { git, gitOutput, nulSeparated, type GitOptions } from './git.ts'
import { makeGitDir, readSettings } from './quarantine.ts'
import type { Repository } from './repository.ts'

/** Runs git on the files and the index of a working tree. @throws GitFailed */
export type CheckoutRun = (args: readonly string[], options?: GitOptions) => Promise<Buffer>

/**
 * Changes the files of a working tree through a Git folder that the board makes. Programs of the repository's
 * configuration (filters, hooks, monitors, LFS) do not run, because anyone who works there can write it. Filters of
 * the account's own configuration do, and find the repository's LFS objects.
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
      // A split index would refer to a part in the temporary folder.
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

/** The sparse-checkout settings, and the remote from which LFS fetches. */
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

/** "=" would end the name there; other transports start programs. */
const isPlainRemote = (name: string, url: string) => /^remote\.[\w.-]+\.url$/.test(name) && url.startsWith('https://')
