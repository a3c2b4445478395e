// Runs tests: node test/run.mjs [vitest's options and files]. Exits with 1 if a test failed, or if a test is unstable and CI is not set.
import { writeFileSync } from 'node:fs'
import { describeUnstable, runTests } from './support/run/runTests.mjs'

const result = runTests(process.argv.slice(2))
if (!result) {
  process.stderr.write('The tests did not run to their end.\n')
  process.exit(1)
}
const { passed, failed, skipped, seed, unstable } = result
if (unstable.length > 0) {
  process.stdout.write(`\n${describeUnstable(unstable, seed)}`)
  process.stdout.write(`To repeat a file with its seed: BOARD_TEST_SEED=${seed} npm test -- ${unstable[0].file}\n`)
}
if (failed > 0) process.stdout.write(`\nThe seed of this run: BOARD_TEST_SEED=${seed}\n`)
if (unstable.length > 0 || failed > 0) process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`)
const path = process.env.BOARD_TEST_RESULT
if (path) writeFileSync(path, JSON.stringify(result))
process.exitCode = failed > 0 || (unstable.length > 0 && !process.env.CI) ? 1 : 0
