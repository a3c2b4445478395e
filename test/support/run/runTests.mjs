import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

/**
 * A test that failed first and then passed alone.
 * @typedef {{ file: string, test: string, error: string }} UnstableTest
 *
 * The result of a run, without second runs counted.
 * @typedef {{ passed: number, failed: number, skipped: number, seed: string, unstable: UnstableTest[] }} Result
 */

const maxReruns = 2
/** If more files fail, they have a common cause, and repeating them one by one would take too long. */
const maxFailedFiles = 8

/**
 * Runs test files. Each file with a failed test runs again, alone in fresh processes and with the same seed, up to twice, until a run of
 * the whole file passes.
 * @param {readonly string[]} args vitest's options and files
 * @returns {Result | undefined} undefined if vitest was interrupted or did not start
 */
export function runTests(args) {
  const seed = process.env.BOARD_TEST_SEED ?? String(randomInt(2 ** 31))
  const first = runVitest(args, seed)
  if (!first) return undefined
  const isRepeatable = first.errors === 0 && first.files.length <= maxFailedFiles
  if (!isRepeatable)
    process.stdout.write('Failed files do not run again: too many failed, or an error belongs to none.\n')
  const recovered = isRepeatable ? first.files.filter(each => passesAlone(each, args, seed)) : []
  const unstable = recovered.flatMap(({ file, failures }) => failures.map(failure => ({ file, ...failure })))
  return {
    passed: first.passed + unstable.length,
    failed: first.failed - unstable.length,
    skipped: first.skipped,
    seed,
    unstable,
  }
}

function passesAlone({ project, file }, args, seed) {
  const namePattern = parseArgs({
    args: [...args],
    options: { testNamePattern: { type: 'string', short: 't' } },
    strict: false,
  }).values.testNamePattern
  for (let rerun = 1; rerun <= maxReruns; rerun++) {
    process.stdout.write(`\nRunning ${file} again, alone (${rerun} of ${maxReruns})\n`)
    // The first run has built the program.
    const options = ['--project', project, ...(namePattern ? ['-t', String(namePattern)] : [])]
    const again = runVitest([...options, resolve(file)], seed, { BOARD_TEST_BUILT: '1' })
    if (!again) return false
    if (again.failed === 0 && again.passed > 0) return true
  }
  return false
}

/** Runs vitest once. Returns what its reporter wrote, or undefined if it did not get that far. */
function runVitest(args, seed, env = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'board-report-'))
  const report = join(folder, 'report.json')
  try {
    spawnSync(process.execPath, [resolve('node_modules/vitest/vitest.mjs'), 'run', ...args], {
      stdio: 'inherit',
      env: { ...process.env, ...env, BOARD_TEST_SEED: seed, BOARD_TEST_REPORT: report },
    })
    return JSON.parse(readFileSync(report, 'utf8'))
  } catch {
    return undefined
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Returns the list of unstable tests as text: file, test, first failure, seed.
 * @param {readonly UnstableTest[]} unstable
 * @param {string} seed
 */
export function describeUnstable(unstable, seed) {
  const lines = unstable.map(({ file, test, error }) => `  ${file}\n    ${test}\n      ${error}\n`)
  return `Unstable: these tests failed, and passed when their file ran again alone. Seed: ${seed}\n${lines.join('')}`
}
