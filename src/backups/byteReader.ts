import { notWhole } from './backupErrors.ts'

/** Reads chunks in portions of the requested sizes. A portion can share memory with a chunk, so callers must not change it. */
export interface ByteReader {
  /** Returns 1 to `maxBytes` bytes, or none at the end. */
  readSome(maxBytes: number): Promise<Buffer>
  /** @throws Problem INVALID_BACKUP if fewer bytes are left */
  readExactly(size: number): Promise<Buffer>
}

const none = Buffer.alloc(0)

export function createByteReader(chunks: AsyncIterable<Buffer>): ByteReader {
  const iterator = chunks[Symbol.asyncIterator]()
  let rest: Buffer = none
  const some = async (maxBytes: number) => {
    while (rest.length === 0) {
      const { done, value } = await iterator.next()
      if (done) return none
      rest = value
    }
    const portion = rest.subarray(0, maxBytes)
    rest = rest.subarray(portion.length)
    return portion
  }
  const exactly = async (size: number) => {
    if (size <= rest.length) {
      const portion = rest.subarray(0, size)
      rest = rest.subarray(size)
      return portion
    }
    const portions: Buffer[] = []
    for (let left = size; left > 0; left -= portions.at(-1)!.length) {
      const portion = await some(left)
      if (portion.length === 0) throw notWhole('it is damaged or incomplete')
      portions.push(portion)
    }
    return Buffer.concat(portions, size)
  }
  return { readSome: some, readExactly: exactly }
}
