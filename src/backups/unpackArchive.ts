import { closeSync, fsync, linkSync, lstatSync, openSync, writeSync } from 'node:fs'
import { open, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { hashFile } from './hashFile.ts'
import type { Part } from './manifest.ts'
import { readExactly, wholeBytes } from './smallFiles.ts'

/** The number of files that are synced concurrently. Syncing several takes as long as syncing one. */
const maxConcurrent = 32
const sync = promisify(fsync)

/** The target of unpacked parts. */
export interface Unpacking {
  /** Writes a part to a new file in the folder. */
  take(part: Part, bytes: Buffer | AsyncIterable<Buffer>): Promise<void>
  /** Resolves when all writes have ended. @throws the error of a write */
  done(): Promise<void>
}

/**
 * @param synced whether the files are on disk when it is done
 * @param reuse a folder: a file in it with a part's name and bytes is linked instead of written. Such files must never be written
 * to
 */
export function createUnpacking(folder: string, synced: boolean, reuse?: string): Unpacking {
  const syncing = new Set<Promise<void>>()
  let failure: { error: unknown } | undefined
  const check = () => {
    if (failure) throw failure.error
  }

  const finish = async (descriptor: number) => {
    const finishing = (synced ? sync(descriptor) : Promise.resolve())
      .catch((error: unknown) => {
        failure ??= { error }
      })
      .finally(() => {
        closeSync(descriptor)
        syncing.delete(finishing)
      })
    syncing.add(finishing)
    if (syncing.size >= maxConcurrent) await Promise.race(syncing)
  }
  return {
    take: async (part, bytes) => {
      check()
      const path = join(folder, part.name)
      const present = reuse === undefined ? undefined : join(reuse, basename(part.name))
      if (Buffer.isBuffer(bytes)) {
        if (present === undefined || !holds(present, bytes) || !link(present, path))
          await finish(writeWhole(path, bytes))
      } else if (present !== undefined && (await isSame(present, part)) && link(present, path)) await drainBytes(bytes)
      else await writeStream(path, bytes, synced)
    },
    done: async () => {
      await Promise.all(syncing)
      check()
    },
  }
}

/** Reads and discards bytes. */
export async function drainBytes(bytes: Buffer | AsyncIterable<Buffer>): Promise<void> {
  if (!Buffer.isBuffer(bytes)) for await (const _ of bytes);
}

const compared = Buffer.alloc(wholeBytes + 1)

function holds(path: string, content: Buffer): boolean {
  try {
    return (
      lstatSync(path).isFile() &&
      readExactly(path, compared, 0, content.length) &&
      compared.subarray(0, content.length).equals(content)
    )
  } catch {
    return false
  }
}

async function isSame(path: string, { size, sha256 }: Part): Promise<boolean> {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats?.isFile() === true && stats.size === size && (await hashFile(path)).sha256 === sha256
}

/** Some file systems do not support links. */
function link(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch {
    return false
  }
}

function writeWhole(path: string, content: Buffer): number {
  const descriptor = openSync(path, 'wx', 0o600)
  try {
    for (let written = 0; written < content.length;) written += writeSync(descriptor, content, written)
    return descriptor
  } catch (error) {
    closeSync(descriptor)
    throw error
  }
}

async function writeStream(path: string, bytes: AsyncIterable<Buffer>, synced: boolean): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await writeFile(file, bytes)
    if (synced) await file.sync()
  } finally {
    await file.close()
  }
}
