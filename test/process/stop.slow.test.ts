import { build } from 'esbuild'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProcessTrees, type ProcessTrees } from '../../src/process/spawn.ts'
import { listProcessRuns } from '../../src/store/agents/processRuns.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'
import { isAlive, processesWith, readProcessFile } from '../support/processes/processFiles.ts'
import { environment, openStore } from '../support/processes/trees.ts'
import { reportSkipped } from '../support/run/reportSkipped.ts'

let store: Awaited<ReturnType<typeof openStore>>
let trees: ProcessTrees
beforeAll(async () => {
  store = await openStore()
  trees = createProcessTrees(store.db)
})
afterAll(() => store.close())

/** Runs a shell script as a separate process tree. `$TAG` in it is a text that only processes of this tree have in their command line. */
let count = 0
async function run(script: string) {
  const tag = `board-tree-${process.pid}-${++count}`
  const child = await trees.spawn({
    command: ['sh', '-c', script.replaceAll('$TAG', tag)],
    cwd: store.folder,
    env: environment,
    stdin: 'pipe',
    kind: 'agent',
  })
  return { child, tag, living: () => [...new Set([...processesWith(child.runId), ...processesWith(tag)])] }
}
const sleeper = 'sh -c "while :; do sleep 0.2; done" $TAG'
const quick = { graceMs: 50, termMs: 150 }

test('a program that exits with its stdin gets no signal', async () => {
  const { child } = await run('cat; echo goodbye')
  const said = text(child.stdout)
  expect(await child.stop()).toBe(true)
  expect(await child.exited).toEqual({ code: 0, signal: null })
  expect(await said).toBe('goodbye\n')
})

test('a program that does not exit gets TERM, and can clean up', async () => {
  const { child } = await run('trap "echo cleaned; exit 7" TERM; echo ready; while :; do sleep 0.05; done')
  let heard = ''
  const said = new Promise<string>(resolve =>
    child.stdout
      .on('data', bytes => {
        heard += bytes
      })
      .on('end', () => resolve(heard)),
  )
  await eventually('the trap to be set', () => heard === 'ready\n')
  expect(await child.stop({ graceMs: 300, termMs: 2000 })).toBe(true)
  expect(await child.exited).toEqual({ code: 7, signal: null })
  expect(await said).toBe('ready\ncleaned\n')
})

const unreadable = resolve(import.meta.dirname, '../fixtures/process/unreadable.pl')
/** The program uses the prctl number of x86-64. */
const canBeUnreadable =
  process.arch === 'x64' &&
  spawnSync('perl', [unreadable, '0'], { timeout: 200, encoding: 'utf8' }).error?.message.includes('ETIMEDOUT') === true
if (!canBeUnreadable) reportSkipped('A process without a readable environment', 'requires Perl and x86-64')

test.skipIf(!canBeUnreadable)('a process without parents ends although it is in the middle of exec', async () => {
  const { child, tag } = await run(`(setsid sh -c 'echo $$ > $TAG; exec perl ${unreadable} 1' &); cat`)
  const pid = await eventually('its pid', () =>
    existsSync(join(store.folder, tag)) ? Number(readFileSync(join(store.folder, tag), 'utf8')) : undefined,
  )
  await eventually('an empty environment', () => readProcessFile(pid, 'environ') === '')
  expect(await child.stop({ graceMs: 50, termMs: 1500 })).toBe(true)
  expect(isAlive(pid)).toBe(false)
})

const stubborn: Array<[string, string, number]> = [
  ['that ignores TERM', `trap "" TERM; ${sleeper}`, 2],
  ['with a tool in a separate session', `setsid ${sleeper} & cat`, 2],
  ['with a tool in a separate session that ignores TERM', `trap "" TERM; setsid ${sleeper} & cat`, 2],
  ['whose tool forked twice and lost its parents', `(setsid sh -c 'setsid ${sleeper} & ' &); cat`, 2],
  ['whose tool cleared its environment', `env -i PATH="$PATH" setsid ${sleeper} & cat`, 2],
  [
    'whose tool cleared its environment and lost its parents, in the session',
    `(env -i PATH="$PATH" ${sleeper} &); cat`,
    2,
  ],
  ['that is stopped like with ctrl-z', `${sleeper} & kill -STOP $!; kill -STOP $$`, 2],
  ['that has exited and left a tool', `setsid ${sleeper} >/dev/null 2>&1 &`, 1],
  ['that keeps forking', `trap "" TERM; while :; do (sleep 0.3 & setsid sleep 0.3 &) ; sleep 0.01; done`, 3],
]
test.each(stubborn)('no process of a tree %s is left', async (_, script, minCount) => {
  const { child, living } = await run(script)
  child.stdout.resume()
  await eventually('the tree to stand', () => living().length >= minCount)
  expect(await child.stop(quick)).toBe(true)
  expect(living().filter(isAlive)).toEqual([])
  expect(await listProcessRuns(store.db)).toEqual([])
})

test('stopping takes no longer than specified, and two concurrent stops are one', async () => {
  const { child } = await run(`trap "" TERM; ${sleeper}`)
  const startedAt = performance.now()
  const [first, second] = [child.stop(quick), child.stop({ graceMs: 60_000 })]
  expect(first).toBe(second)
  expect(await first).toBe(true)
  expect(performance.now() - startedAt).toBeLessThan(3000 * slowdown())
  expect(await child.stop()).toBe(true)
})

test('processes of others continue: bystanders and those of another tree', async () => {
  const bystander = spawn('sleep', ['1000'], { stdio: 'ignore' })
  const other = await run(sleeper)
  const { child } = await run(sleeper)
  try {
    expect(await child.stop(quick)).toBe(true)
    expect(isAlive(bystander.pid!)).toBe(true)
    expect(other.living().length).toBeGreaterThan(0)
  } finally {
    bystander.kill('SIGKILL')
    await other.child.stop(quick)
  }
})

test('outside Linux, without access to environments, the tree is found by its parents and its group', async () => {
  const stopper = join(store.folder, 'stopper.mjs')
  symlinkSync(resolve('node_modules'), join(store.folder, 'node_modules'))
  await build({
    entryPoints: ['test/fixtures/process/stopper.ts'],
    outfile: stopper,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'error',
    define: { 'process.platform': '"darwin"' },
  })
  const script = `trap "" TERM; (${sleeper.replace('$TAG', 'orphan')} &); setsid ${sleeper.replace('$TAG', 'child')} & setsid ${sleeper.replace('$TAG', 'other')} & echo up; while :; do sleep 0.1; done`
  const output = execFileSync(process.execPath, [stopper, join(store.folder, 'board.db'), store.folder, script], {
    encoding: 'utf8',
  })
  const { runId, isGone } = JSON.parse(output) as { runId: string; isGone: boolean }
  expect(isGone).toBe(true)
  expect(processesWith(runId).filter(isAlive)).toEqual([])
  expect(await listProcessRuns(store.db)).toEqual([])
})

/** For longer runs: BOARD_TEST_ROUNDS. */
const rounds = Number(process.env.BOARD_TEST_ROUNDS ?? 20)
test(`${rounds} random trees leave no processes`, async () => {
  const file = join(store.folder, 'tree.sh')
  writeFileSync(
    file,
    `depth=$1\n[ "$2" = deaf ] && trap "" TERM\nif [ "$depth" -gt 0 ]; then\n  sh "$0" $((depth - 1)) $3 $2 &\n  setsid sh "$0" $((depth - 1)) $2 $3 &\nfi\nwhile :; do sleep 0.1; done\n`,
  )
  for (let round = 0; round < rounds; round++) {
    const mood = () => (Math.random() < 0.5 ? 'deaf' : 'kind')
    const { child, living } = await run(`exec sh ${file} ${Math.floor(Math.random() * 3)} ${mood()} ${mood()} $TAG`)
    await new Promise(resolve => setTimeout(resolve, Math.random() * 40))
    expect(await child.stop({ graceMs: 5, termMs: 30 })).toBe(true)
    expect(living().filter(isAlive)).toEqual([])
  }
  expect(await listProcessRuns(store.db)).toEqual([])
})
