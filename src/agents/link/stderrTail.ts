import { createTail } from '../../process/output.ts'
import { redactSecrets } from './redactSecrets.ts'

const maxTailBytes = 8 * 1024
/** Exceeds maxTailBytes by more than the longest secret: a secret at the cut is still whole, and redacted, before the cut is made. */
const maxKeptBytes = 4 * maxTailBytes

/** The end of an agent's output beside its protocol, with secrets redacted. */
export interface StderrTail {
  add(bytes: Buffer): void
  text(): string
}

export function createStderrTail(secrets: readonly string[]): StderrTail {
  const { add, text } = createTail(maxKeptBytes)
  return { add, text: () => redactSecrets(text(), secrets).slice(-maxTailBytes).trim() }
}
