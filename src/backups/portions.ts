import { notWhole } from './problems.ts'

/** Bytes in the portions that are asked for, whatever the chunks that they come in. A portion may be part of a chunk: it is not to be changed. */
export interface Portions {
  /** At least one byte and at most so many; none at the end. */
  some(most: number): Promise<Buffer>
  /** @throws Problem INVALID_BACKUP when there are fewer */
  exactly(size: number): Promise<Buffer>
}

const none = Buffer.alloc(0)

export function createPortions(chunks: AsyncIterable<Buffer>): Portions {
  const iterator = chunks[Symbol.asyncIterator]()
  let rest: Buffer = none
  const some = async (most: number) => {
    while (rest.length === 0) {
      const { done, value } = await iterator.next()
      if (done) return none
      rest = value
    }
    const portion = rest.subarray(0, most)
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
      if (portion.length === 0) throw notWhole('it is damaged or cut off')
      portions.push(portion)
    }
    return Buffer.concat(portions, size)
  }
  return { some, exactly }
}
