import { mkdtemp, open, readFile, rm, stat, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { GitFailed, type GitOptions, gitOutput, inGitDir } from '../git/git.ts'
import { writeGitFolder } from '../git/gitFolder.ts'
import { excludeTips } from '../git/listRefs.ts'
import { transferPrefix } from '../git/shadow.ts'
import { copyPlain } from '../git/untrustedFiles.ts'
import { keepPack } from './keepPack.ts'
import type { ResultPart } from './send.ts'
import { receiveLargeFiles } from './receiveLargeFiles.ts'

const timeoutMs = 5 * 60_000
const maxShallowBytes = 64 * 1024 * 1024
/** Like Git's `transfer.unpackLimit`: fewer objects become single files instead of a pack. */
const minKeptObjects = 100
const maxUnpackedBytes = 16 * 1024 * 1024

/** Objects that are being added to a repository. */
export interface IncomingObjects {
  /** Accepts the next bytes of the pack, or the next part of a large file. */
  write(bytes: Buffer, part?: ResultPart): Promise<void>
  /**
   * Checks the pack and adds it to the repository: Git computes the name of each object again, and everything that belongs to the
   * commit or tree must be in the pack or in the repository. Also adds the large files.
   * @throws GitFailed; in this case, the repository is unchanged
   */
  accept(id: string, type: 'commit' | 'tree'): Promise<void>
  /** Removes the temporary folder. */
  close(): Promise<void>
}

/**
 * Receives objects in a temporary Git folder that sees the repository's objects, but no file of an agent.
 * @param folder the parent of the temporary folder
 * @param known an object of the repository
 */
export function receiveObjects(commonDir: string, folder: string, known: string): IncomingObjects {
  let incoming: { gitDir: string; pack: string; file: FileHandle } | undefined
  const begin = async (): Promise<NonNullable<typeof incoming>> => {
    const gitDir = await mkdtemp(join(folder, transferPrefix))
    const pack = join(gitDir, 'objects/pack/pack-incoming.pack')
    await writeGitFolder(gitDir, known.length === 64 ? 'sha256' : undefined, [join(commonDir, 'objects')])
    await copyPlain(join(commonDir, 'shallow'), join(gitDir, 'shallow'), maxShallowBytes)
    return (incoming = { gitDir, pack, file: await open(pack, 'wx', 0o600) })
  }
  const largeFiles = receiveLargeFiles(commonDir)
  return {
    write: async (bytes, part) => {
      if (part === 'largeFile') return largeFiles.write(bytes)
      const { file } = incoming ?? (await begin())
      await file.writeFile(bytes)
    },
    accept: async (id, type) => {
      if (!incoming) throw new GitFailed('failed', 'No objects arrived.')
      const { gitDir, pack, file } = incoming
      await file.close()
      await largeFiles.accept()
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
      await run(['rev-list', '--objects', '--quiet', '--stdin'], { input: `${id}\n${await excludeTips(commonDir)}` })
      if ((await run(['cat-file', '-t', id])).toString() !== `${type}\n`)
        throw new GitFailed('failed', `The object that arrived is not a ${type}.`)
      if (await isSmall(pack)) await unpack(commonDir, pack)
      else await keepPack({ pack, index, name }, commonDir)
    },
    close: async () => {
      await largeFiles.close()
      if (!incoming) return
      await incoming.file.close().catch(() => {})
      await rm(incoming.gitDir, { recursive: true, force: true })
    },
  }
}

/** Whether a pack is small. The third 32-bit word of a pack is the number of its objects. */
async function isSmall(pack: string): Promise<boolean> {
  if ((await stat(pack)).size > maxUnpackedBytes) return false
  return (await readFile(pack)).readUInt32BE(8) < minKeptObjects
}

/** By default, Git does not sync single objects to the disk. */
const unpack = async (commonDir: string, pack: string) =>
  gitOutput(commonDir, ['-c', 'core.fsync=loose-object', 'unpack-objects', '-q'], {
    input: await readFile(pack),
    env: inGitDir(commonDir),
    timeoutMs,
  })
