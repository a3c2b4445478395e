import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gitOutput, type GitOptions } from './git.ts'
import { writeGitFolder } from './gitFolder.ts'
import type { Committer } from './identity.ts'
import type { Repository } from './workingTrees.ts'
import { copyPlain } from './untrustedFiles.ts'

const timeoutMs = 5 * 60_000
const maxShallowBytes = 512 * 1024 * 1024
const maxAttributesBytes = 1024 * 1024

/** Runs Git on the objects of a repository, and adds new ones to it. @throws GitFailed */
export interface ObjectsRun {
  (args: readonly string[], options?: GitOptions): Promise<Buffer>
  /** Options of Git that sign commits. Null if commits are not signed. */
  readonly signing: Committer['signing']
}

/**
 * Works on the objects of a repository through a temporary Git folder, without files of a worktree, and without the repository's
 * configuration: its merge drivers and hooks do not run. New commits have the given committer.
 */
export async function withObjects<T>(
  { commonDir, head }: Pick<Repository, 'commonDir' | 'head'>,
  { env, signing }: Committer,
  use: (run: ObjectsRun) => Promise<T>,
): Promise<T> {
  const gitDir = await mkdtemp(join(tmpdir(), 'board-objects-'))
  // Git reads attributes only in a working tree. This one is empty, so that they come from the index.
  const [empty, objects] = [join(gitDir, 'empty'), join(commonDir, 'objects')]
  try {
    await writeGitFolder(gitDir, head?.length === 64 ? 'sha256' : undefined, [objects])
    await mkdir(empty)
    await Promise.all([
      copyPlain(join(commonDir, 'shallow'), join(gitDir, 'shallow'), maxShallowBytes),
      copyPlain(join(commonDir, 'info/attributes'), join(gitDir, 'info/attributes'), maxAttributesBytes),
    ])
    const settings = {
      GIT_DIR: gitDir,
      GIT_WORK_TREE: empty,
      GIT_OBJECT_DIRECTORY: objects,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_ATTR_NOSYSTEM: '1',
      GIT_NO_REPLACE_OBJECTS: '1',
      ...env,
    }
    const run = (args: readonly string[], options?: GitOptions) =>
      gitOutput(gitDir, ['-c', 'core.attributesFile=/dev/null', ...args], {
        timeoutMs,
        ...options,
        env: { ...settings, ...options?.env },
      })
    return await use(Object.assign(run, { signing }))
  } finally {
    await rm(gitDir, { recursive: true, force: true })
  }
}
