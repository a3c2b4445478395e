import { mkdtemp, open, rm, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { GitFailed, gitOutput, type GitOptions } from '../git/git.ts'
import { writeGitFolder } from '../git/gitFolder.ts'
import { excludeTips } from '../git/listRefs.ts'
import type { Shadow } from '../git/shadow.ts'
import { keepPack, transferPrefix } from '../git/shadowObjects.ts'
import { copyPlain } from '../git/untrustedFiles.ts'

const timeoutMs = 5 * 60_000
const maxShallowBytes = 64 * 1024 * 1024

/** Commits of an agent on their way into the repository. */
export interface IncomingCommits {
  /** Takes the next bytes of the pack. */
  write(bytes: Buffer): Promise<void>
  /**
   * Checks the pack and adds it to the repository: Git computes the name of each object again, and everything that
   * belongs to the commit must be in the pack or in the repository.
   * @throws GitFailed, and then the repository is unchanged
   */
  accept(commit: string): Promise<void>
  /** Removes the temporary folder. */
  close(): Promise<void>
}

/**
 * Receives commits in a temporary Git folder that sees the repository's objects, and no file of the agent.
 * @param known a commit of the repository
 */
export function receiveCommits(shadow: Shadow, known: string): IncomingCommits {
  const format = known.length === 64 ? 'sha256' : undefined
  const objects = join(shadow.commonDir, 'objects')
  let incoming: { gitDir: string; pack: string; file: FileHandle } | undefined
  const begin = async (): Promise<NonNullable<typeof incoming>> => {
    const gitDir = await mkdtemp(join(shadow.folder, transferPrefix))
    const pack = join(gitDir, 'objects/pack/pack-incoming.pack')
    await writeGitFolder(gitDir, format, [objects])
    await copyPlain(join(shadow.commonDir, 'shallow'), join(gitDir, 'shallow'), maxShallowBytes)
    return (incoming = { gitDir, pack, file: await open(pack, 'wx', 0o600) })
  }
  return {
    write: async bytes => {
      const { file } = incoming ?? (await begin())
      await file.writeFile(bytes)
    },
    accept: async commit => {
      if (!incoming) throw new GitFailed('failed', 'No objects arrived.')
      const { gitDir, pack, file } = incoming
      await file.close()
      const run = (args: readonly string[], options?: GitOptions) =>
        gitOutput(gitDir, ['-c', 'pack.writeReverseIndex=false', ...args], {
          timeoutMs,
          ...options,
          env: {
            GIT_DIR: gitDir,
            GIT_CONFIG_NOSYSTEM: '1',
            GIT_CONFIG_GLOBAL: '/dev/null',
            GIT_NO_REPLACE_OBJECTS: '1',
          },
        })
      const index = pack.replace(/pack$/, 'idx')
      const name = (await run(['index-pack', '--fsck-objects', '-o', index, pack])).toString().trim()
      await run(['rev-list', '--objects', '--quiet', '--stdin'], {
        input: `${commit}\n${await excludeTips(shadow.commonDir)}`,
      })
      if ((await run(['cat-file', '-t', commit])).toString() !== 'commit\n')
        throw new GitFailed('failed', 'The branch names an object that is not a commit.')
      await keepPack({ pack, index, name }, shadow.commonDir)
    },
    close: async () => {
      if (!incoming) return
      await incoming.file.close().catch(() => {})
      await rm(incoming.gitDir, { recursive: true, force: true })
    },
  }
}
