import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readArchive } from '../../src/backups/readArchive.ts'
import { archiveOf } from './archives.ts'

it('an archive that grows in small steps, each of which expands considerably, is read while it is written', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'board-growth-'))
  try {
    const bytes = Buffer.alloc(64 * 2 ** 20, 'even ')
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const manifest = {
      format: 1,
      version: '1.0.0',
      schemaVersion: 1,
      createdAt: '2026-01-01T00:00:00.000Z',
      origin: 'request',
      parts: [{ name: 'board.db', size: bytes.length, sha256 }],
      missing: [],
    }
    const archive = await archiveOf([
      { name: 'manifest.json', bytes: Buffer.from(JSON.stringify(manifest)) },
      { name: 'board.db', bytes },
    ])
    const path = join(folder, 'archive')
    writeFileSync(path, archive)
    const growth = {
      bytes: 0,
      isWhole: false,
      untilMore: async () => {
        growth.bytes = Math.min(growth.bytes + 500, archive.length)
        growth.isWhole = growth.bytes === archive.length
      },
    }
    const taken = createHash('sha256')
    const read = await readArchive(
      path,
      async () => {},
      async (_, content) => {
        for await (const chunk of content as AsyncIterable<Buffer>) taken.update(chunk)
      },
      { growth },
    )
    expect([read.size, taken.digest('hex')]).toEqual([archive.length, sha256])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
