import { createTail } from '../../process/output.ts'
import { redactSecrets } from './redactSecrets.ts'

const maxTailBytes = 8 * 1024
/** Exceeds `maxTailBytes` by more than the longest secret, so that a secret at the cut is redacted before it is cut. */
const maxKeptBytes = 4 * maxTailBytes

/** The end of the agent's output outside its protocol, with secrets redacted. */
export interface StderrTail {
  add(bytes: Buffer): void
  /** The number of bytes added so far. */
  byteCount(): number
  /** @param from the number of leading bytes to omit */
  text(from?: number): string
}

export function createStderrTail(secrets: readonly string[]): StderrTail {
  const tail = createTail(maxKeptBytes)
  let written = 0
  const since = (from: number): string => {
    const bytes = Buffer.from(tail.text())
    return bytes.subarray(Math.max(0, bytes.length - Math.max(0, written - from))).toString()
  }
  return {
    add: bytes => {
      written += bytes.length
      tail.add(bytes)
    },
    byteCount: () => written,
    text: (from = 0) => redactSecrets(since(from), secrets).slice(-maxTailBytes).trim(),
  }
}
