import { gunzipSync } from 'node:zlib'
import { pack } from 'tar-stream'
import { expect, it } from 'vitest'
import { storedMember } from '../../src/backups/gzip.ts'
import { headerWriter, readHeader } from '../../src/backups/tar.ts'

const name = `attachments/${'0123456789abcdef'.repeat(2)}`
const mtime = new Date('2026-01-02T03:04:05.678Z')

/** The first block that another program writes for a file of this size. */
async function othersHeader(size: number): Promise<Buffer> {
  const tar = pack()
  tar.entry({ name, size, mode: 0o600, mtime })
  for await (const chunk of tar as unknown as AsyncIterable<Buffer>) return chunk
  throw new Error('There is no header.')
}

it.each([0, 1, 20_480, 0o77777777777, 0o77777777777 + 1, 40 * 2 ** 30, Number.MAX_SAFE_INTEGER])(
  'the header of a file of %d bytes equals that of other programs, and can be read again',
  async size => {
    const header = Buffer.alloc(1024, 1)
    headerWriter(mtime)(header, 512, { name, size })
    const own = header.subarray(512)
    expect(own.toString('latin1')).toBe((await othersHeader(size)).toString('latin1'))
    expect(readHeader(own)).toEqual({ name, size })
  },
)

it.each([0, 1, 65_535, 65_536, 300_000])('%d stored bytes unpack to themselves', size => {
  const bytes = Buffer.alloc(size, 'some bytes')
  expect(gunzipSync(Buffer.concat(storedMember(bytes))).equals(bytes)).toBe(true)
})
