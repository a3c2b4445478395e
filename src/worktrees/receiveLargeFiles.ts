import { createHash, type Hash } from 'node:crypto'
import { chmod, mkdir, mkdtemp, open, rename, rm, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { GitFailed } from '../git/git.ts'
import { largeFilePlace, largeFilesOf } from '../git/largeFiles.ts'

const nameBytes = 32

/** Large files of Git LFS that are being added to a repository. */
export interface IncomingLargeFiles {
  /** Accepts the next part of a file: its name, which is the SHA-256 of its content, and bytes. */
  write(part: Buffer): Promise<void>
  /** Adds the files to the repository. @throws GitFailed if the content of a file does not match its name */
  accept(): Promise<void>
  /** Removes the temporary folder. */
  close(): Promise<void>
}

interface Arriving {
  id: string
  path: string
  file: FileHandle
  hash: Hash
}

/** Receives large files in a temporary folder of the repository's Git folder, which no agent can write. */
export function receiveLargeFiles(commonDir: string): IncomingLargeFiles {
  const temporary = join(commonDir, 'lfs/tmp')
  let folder: string | undefined
  let current: Arriving | undefined
  const arrived: Array<Omit<Arriving, 'file' | 'hash'>> = []
  const begin = async (id: string): Promise<Arriving> => {
    if (folder === undefined) await mkdir(temporary, { recursive: true })
    folder ??= await mkdtemp(join(temporary, 'board-'))
    const path = join(folder, id)
    return { id, path, file: await open(path, 'wx', 0o600), hash: createHash('sha256') }
  }
  const finish = async () => {
    if (!current) return
    const { id, path, file, hash } = current
    current = undefined
    await file.sync()
    await file.close()
    if (hash.digest('hex') !== id)
      throw new GitFailed('failed', `The content of the large file ${id} does not match its name.`)
    arrived.push({ id, path })
  }
  return {
    write: async part => {
      const id = part.toString('hex', 0, nameBytes)
      if (current && current.id !== id) await finish()
      current ??= await begin(id)
      const bytes = part.subarray(nameBytes)
      current.hash.update(bytes)
      await current.file.writeFile(bytes)
    },
    accept: async () => {
      await finish()
      for (const { id, path } of arrived) {
        const place = join(largeFilesOf(commonDir), largeFilePlace(id))
        await mkdir(dirname(place), { recursive: true })
        await chmod(path, 0o444)
        await rename(path, place)
      }
    },
    close: async () => {
      await current?.file.close().catch(() => {})
      if (folder !== undefined) await rm(folder, { recursive: true, force: true })
    },
  }
}
