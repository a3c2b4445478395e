import type { Part } from './manifest.ts'
import { notWhole } from './backupErrors.ts'

/** A member has a header of one block, and is filled up to whole blocks. */
export const blockBytes = 512
const fields = { size: 124, changedAt: 136, sum: 148, type: 156, link: 157, magic: 257, prefix: 345 }
const digits = { size: 11, sum: 6 }
const maxOctal = 0o77777777777

/** The number of padding bytes after a member of this size. */
export const paddingOf = (size: number): number => (blockBytes - (size % blockBytes)) % blockBytes

/** Returns a function that creates the header of a member, one block, with this modification time (POSIX.1-1988, "ustar"). */
export function headerWriter(changedAt: Date): (target: Buffer, at: number, part: Pick<Part, 'name' | 'size'>) => void {
  const blank = Buffer.alloc(blockBytes)
  for (const [at, text] of Object.entries({ 100: '000600 ', 108: '000000 ', 116: '000000 ', 329: '000000 ' }))
    blank.write(text, Number(at), 'latin1')
  blank.write('000000 ', 337, 'latin1')
  blank.write(`${octal(Math.floor(changedAt.getTime() / 1000), digits.size)} `, fields.changedAt, 'latin1')
  blank.write('0', fields.type, 'latin1')
  blank.write('ustar\x0000', fields.magic, 'latin1')
  return (target, at, { name, size }) => {
    const header = target.subarray(at, at + blockBytes)
    blank.copy(header)
    header.write(name, 0, 'latin1')
    if (size <= maxOctal) header.write(`${octal(size, digits.size)} `, fields.size, 'latin1')
    else {
      header[fields.size] = 0x80
      header.writeBigUInt64BE(BigInt(size), fields.size + 4)
    }
    header.write(`${octal(sumOf(header), digits.sum)} `, fields.sum, 'latin1')
  }
}

/**
 * Reads a block that should be the header of a plain file. Undefined for an end block of the archive.
 * @throws Problem INVALID_BACKUP
 */
export function readHeader(header: Buffer): { name: string; size: number } | undefined {
  const sum = sumOf(header)
  if (sum === emptySum) return undefined
  if (sum !== numberAt(header, fields.sum, 8) || header.toString('latin1', fields.magic, fields.magic + 5) !== 'ustar')
    throw notWhole('it is damaged or incomplete')
  const type = header[fields.type]
  if ((type !== 0 && type !== 0x30) || header[fields.link] !== 0 || header[fields.prefix] !== 0)
    throw notWhole('a member is not a plain file')
  const end = header.indexOf(0)
  return { name: header.toString('latin1', 0, Math.min(end, 100)), size: numberAt(header, fields.size, 12) }
}

const octal = (value: number, length: number) => value.toString(8).padStart(length, '0')

/** The sum of a header's bytes, with spaces for the sum itself. */
function sumOf(header: Buffer): number {
  let sum = emptySum
  for (let at = 0; at < fields.sum; at++) sum += header[at]!
  for (let at = fields.type; at < blockBytes; at++) sum += header[at]!
  return sum
}
const emptySum = 8 * 0x20

function numberAt(header: Buffer, at: number, length: number): number {
  const isBinary = header[at] === 0x80
  const text = header
    .toString('latin1', at, at + length)
    .replaceAll('\0', ' ')
    .trim()
  const value = isBinary ? Number(header.readBigUInt64BE(at + length - 8)) : parseInt(text, 8)
  if (!Number.isSafeInteger(value) || (!isBinary && !/^[0-7]+$/.test(text)))
    throw notWhole('it is damaged or incomplete')
  return value
}
