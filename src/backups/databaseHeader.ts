import { open } from 'node:fs/promises'

const magic = Buffer.from('SQLite format 3\0')
const headerBytes = 100

/** The first bytes of a database file (section 1.3 of its format), and its size and times in the file system. */
export interface DatabaseHeader {
  sizeBytes: number
  changedAt: Date
  isDatabase: boolean
  /** Whether changes are first written to a log next to the file. */
  hasLog: boolean
  pageBytes: number
  pages: number
  /** Whether the number of pages is up to date. */
  isCounted: boolean
  schemaVersion: number
}

/** Returns undefined if there is no such file. */
export async function readHeader(path: string): Promise<DatabaseHeader | undefined> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  try {
    const stats = await file?.stat()
    const bytes = Buffer.alloc(headerBytes)
    await file?.read(bytes, 0, headerBytes, 0)
    const pageBytes = bytes.readUInt16BE(16)
    return (
      stats && {
        sizeBytes: stats.size,
        changedAt: stats.mtime,
        isDatabase: bytes.subarray(0, magic.length).equals(magic),
        hasLog: bytes[18] === 2,
        pageBytes: pageBytes === 1 ? 65_536 : pageBytes,
        pages: bytes.readUInt32BE(28),
        isCounted: bytes.readUInt32BE(24) === bytes.readUInt32BE(92),
        schemaVersion: bytes.readUInt32BE(60),
      }
    )
  } finally {
    await file?.close()
  }
}
