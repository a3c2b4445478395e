import { mkdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gitOutput, type GitOptions } from '../../git/git.ts'
import { configurationOf, settingsOf, type ConfigurationEntry, type Settings } from '../../git/configuration.ts'
import { makeGitDir } from './quarantine.ts'
import type { WorkingTree } from '../../git/workingTrees.ts'

/** Runs git on the files of a working tree, with a copy of its index. @throws GitFailed */
export type CheckoutRun = (args: readonly string[], options?: GitOptions) => Promise<Buffer>

/**
 * Changes the files of a working tree through a temporary Git folder. Programs of the repository's configuration (filters, hooks,
 * monitors) do not run. Filters of the account's configuration do, and Git LFS finds the repository's large files.
 */
export async function inCheckout<T>(
  place: WorkingTree,
  work: (run: CheckoutRun, gitDir: string) => Promise<T>,
): Promise<T> {
  const configuration = await configurationOf(place)
  const sparse = configuration.filter(isSparseSetting).map(({ name, value }): Settings[number] => [name, value])
  const gitDir = await makeGitDir(tmpdir(), place, [...settingsOf(configuration), ...sparse], sparseList)
  try {
    // Git LFS would copy each large file into the temporary folder first.
    await mkdir(join(gitDir, 'lfs'))
    await symlink(join(place.commonDir, 'lfs/objects'), join(gitDir, 'lfs/objects'))
    // A split index would refer to a part in the temporary folder.
    const run: CheckoutRun = (args, options) =>
      gitOutput(place.topLevel, ['-c', 'core.splitIndex=false', ...args], {
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

const isSparseSetting = ({ name, value }: ConfigurationEntry): boolean =>
  /^core\.sparsecheckout(cone)?$/.test(name) && /^(true|false)$/.test(value)
