import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import { version } from '../config/version.ts'
import type { BackupOrigin } from '../contract/server/backups.ts'
import { filesOfCopy, type NamedFile } from '../store/engine/databaseCopy.ts'
import { hashFile } from './hashFile.ts'
import { attachmentsName, databaseName, format, keyName, type Manifest, type Part } from './manifest.ts'
import { writeArchive } from './writeArchive.ts'

/** The content of an archive. */
export interface Pack {
  /** The archive's path. */
  path: string
  /** A folder with a copy of the database, and of the key if the backup includes it. */
  work: string
  withKey: boolean
  attachmentsDir: string
  createdAt: string
  origin: BackupOrigin
  /** Measure each file instead of trusting its row. Damaged files are packed unchanged. */
  isMeasured: boolean
  /** Receives the growth of the archive. */
  growth: MessagePort
}
/** `missing`: the attachments whose files do not exist. */
export interface Packed {
  missing: string[]
}

/**
 * Writes an archive of a copy of the database and the files that it names.
 * @throws Problem INVALID_BACKUP if a file differs from its row
 */
export async function packArchive({ path, growth, ...options }: Pack): Promise<Packed> {
  try {
    const manifest = await describeContents(options)
    await writeArchive(
      path,
      manifest,
      part => pathOf(options, part),
      grown => growth.postMessage(grown, []),
    )
    return { missing: manifest.missing }
  } finally {
    growth.close()
  }
}

type Described = Omit<Pack, 'path' | 'growth'>

const pathOf = ({ work, attachmentsDir }: Described, { name }: Pick<Part, 'name'>) =>
  join(name.startsWith(attachmentsName) ? dirname(attachmentsDir) : work, name)

async function describeContents(options: Described): Promise<Manifest> {
  const { work, withKey, attachmentsDir, createdAt, origin, isMeasured } = options
  const { schemaVersion, files } = await filesOfCopy(join(work, databaseName))
  const own = []
  for (const name of [databaseName, ...(withKey ? [keyName] : [])])
    own.push({ name, ...(await hashFile(join(work, name))) })
  const found = await findParts(attachmentsDir, files)
  const { parts, missing } = isMeasured ? await measure(found, part => pathOf(options, part)) : found
  return { format, version, schemaVersion, createdAt, origin, missing, parts: [...own, ...parts] }
}

interface Found {
  parts: Part[]
  missing: string[]
}

/** The files on disk, with the properties in their rows, and the missing ones. */
async function findParts(attachmentsDir: string, files: readonly NamedFile[]): Promise<Found> {
  const present = new Set(
    (await readdir(attachmentsDir, { withFileTypes: true })).filter(entry => entry.isFile()).map(({ name }) => name),
  )
  const all = files.map(({ name, size, sha256 }) => ({
    isPresent: present.has(name),
    part: { name: `${attachmentsName}/${name}`, size, sha256 },
  }))
  return {
    parts: all.filter(({ isPresent }) => isPresent).map(({ part }) => part),
    missing: all.filter(({ isPresent }) => !isPresent).map(({ part }) => part.name),
  }
}

/** Measures the files, regardless of their rows. An unreadable file is missing. */
async function measure({ parts, missing }: Found, pathOfPart: (part: Part) => string): Promise<Found> {
  const measured: Found = { parts: [], missing: [...missing] }
  for (const part of parts) {
    const actual = await hashFile(pathOfPart(part)).catch(() => undefined)
    if (actual) measured.parts.push({ name: part.name, ...actual })
    else measured.missing.push(part.name)
  }
  return measured
}
