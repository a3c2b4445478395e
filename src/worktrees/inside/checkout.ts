import { rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gitOutput, type GitOptions } from '../../git/git.ts'
import { configurationOf, settingsOf } from '../../git/configuration.ts'
import { makeGitDir } from './quarantine.ts'
import type { WorkingTree } from '../../git/workingTrees.ts'

/** Runs git on the files of a working tree, with a copy of its index. @throws GitFailed */
export type CheckoutRun = (args: readonly string[], options?: GitOptions) => Promise<Buffer>

/**
 * Changes the files of a working tree through a Git folder that the board makes. Programs of the repository's
 * configuration (filters, hooks, monitors, LFS) do not run, because anyone who works there can write it. Filters of
 * the account's own configuration do, and find the repository's LFS objects.
 */
export async function inCheckout<T>(
  place: WorkingTree,
  work: (run: CheckoutRun, gitDir: string) => Promise<T>,
): Promise<T> {
  const configuration = await configurationOf(place)
  const settings = [...settingsOf(configuration), ...configuration.flatMap(ofPlace)]
  const gitDir = await makeGitDir(tmpdir(), place, settings, sparseList)
  try {
    await symlink(join(place.commonDir, 'lfs'), join(gitDir, 'lfs'))
    const overrides = settings
      .filter(([name]) => !name.startsWith('extensions.'))
      .flatMap(([name, value]) => ['-c', `${name}=${value}`])
    // A split index would refer to a part in the temporary folder.
    const run: CheckoutRun = (args, options) =>
      gitOutput(place.topLevel, [...overrides, '-c', 'core.splitIndex=false', ...args], {
        ...options,
        env: {
          GIT_DIR: gitDir,
          GIT_WORK_TREE: place.topLevel,
          GIT_NO_REPLACE_OBJECTS: '1',
          ...options?.env,
        },
      })
    return await work(run, gitDir)
  } finally {
    await rm(gitDir, { recursive: true, force: true })
  }
}

const sparseList = 'info/sparse-checkout'

/** The sparse-checkout settings, and the remote from which LFS fetches. */
const ofPlace = ({ name, value }: { name: string; value: string }): Array<[name: string, value: string]> =>
  (/^core\.sparsecheckout(cone)?$/.test(name) && /^(true|false)$/.test(value)) || isPlainRemote(name, value)
    ? [[name, value]]
    : []

/** "=" would end the name there; other transports start programs. */
const isPlainRemote = (name: string, url: string) => /^remote\.[\w.-]+\.url$/.test(name) && url.startsWith('https://')
