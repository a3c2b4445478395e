import { createTail } from '../../process/output.ts'
import { hideSecrets } from './redactSecrets.ts'

const shownBytes = 8 * 1024
/** Longer than what is shown by more than the longest secret, so that half a secret at the cut is never shown. */
const keptBytes = 4 * shownBytes

/** The last of what an agent wrote beside its protocol, of bounded size and without secrets. */
export interface SafeTail {
  add(bytes: Buffer): void
  text(): string
}

export function createSafeTail(secrets: readonly string[]): SafeTail {
  const { add, text } = createTail(keptBytes)
  return { add, text: () => hideSecrets(text(), secrets).slice(-shownBytes).trim() }
}
