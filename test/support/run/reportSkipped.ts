import { appendFileSync } from 'node:fs'

/** The file that the reporter names for one run. It prints each reason once, at the end. */
const file = process.env.BOARD_TEST_SKIPS

/**
 * Reports why tests are skipped on this machine.
 * @param tests the skipped tests, as a noun phrase: "Tests in a browser"
 * @param reason the reason, and how to run them
 */
export function reportSkipped(tests: string, reason: string): void {
  if (file !== undefined) appendFileSync(file, `${tests}: ${reason.replace(/\s+/g, ' ').trim()}\n`)
}
