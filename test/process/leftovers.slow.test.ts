import { build, type BuildOptions } from 'esbuild'
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { endLeftovers } from '../../src/process/leftovers.ts'
import { bootId, listProcesses } from '../../src/process/table.ts'
import { insertProcessRun, listProcessRuns, setProcessRunPid } from '../../src/store/agents/processRuns.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'
import { isAlive, processesWith } from '../support/processes/processFiles.ts'
import { openStore } from '../support/processes/trees.ts'

const bundling: BuildOptions = {
  entryPoints: ['test/fixtures/process/parent.ts', 'test/fixtures/process/successor.ts'],
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
  logLevel: 'error',
}
let store: Awaited<ReturnType<typeof openStore>>
let parent: string
let successor: string
beforeAll(async () => {
  store = await openStore()
  parent = join(store.folder, 'parent.mjs')
  symlinkSync(resolve('node_modules'), join(store.folder, 'node_modules'))
  successor = join(store.folder, 'successor.mjs')
  await build({ ...bundling, outdir: store.folder })
})
afterAll(() => store.close())
beforeEach(async () => {
  await endLeftovers(store.db)
})

interface Run {
  runId: string
  pid: number
}

/** Another process that starts trees on this database; it is killed before it can clean up. */
async function startAndKill(...scripts: string[]): Promise<Run[]> {
  const other = spawn(process.execPath, [parent, join(store.folder, 'board.db'), store.folder, ...scripts], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(other, 'exit')
  const [line] = (await Promise.race([
    once(other.stdout, 'data'),
    exited.then(([code]) => {
      throw new Error(`It exited with ${code}.`)
    }),
  ])) as [Buffer]
  other.kill('SIGKILL')
  await exited
  return JSON.parse(line.toString()) as Run[]
}
const living = (runs: readonly Run[]) => runs.flatMap(({ runId }) => processesWith(runId)).filter(isAlive)

/** A process that runs for as long as the test, and belongs to no tree. */
async function withBystander(work: (bystander: ChildProcess, startedAt: string) => Promise<void>): Promise<void> {
  const bystander = spawn('sleep', ['1000'], { stdio: 'ignore', detached: true })
  try {
    await work(bystander, (await listProcesses()).find(({ pid }) => pid === bystander.pid)!.startedAt)
  } finally {
    bystander.kill('SIGKILL')
  }
}

const endless = 'while :; do sleep 0.1; done'

test('the next start ends the processes of a killed server: those that ignore TERM and the end of stdin, and tools in separate sessions', async () => {
  const runs = await startAndKill(
    endless,
    `trap "" TERM; ${endless}`,
    `setsid sh -c 'trap "" TERM; ${endless}' & ${endless}`,
    `(setsid sh -c '${endless}' &); exit`,
  )
  await eventually('every tree to stand', () => runs.every(({ runId }) => processesWith(runId).some(isAlive)))
  const startedAt = performance.now()
  const { runs: found, processes, remaining } = await endLeftovers(store.db)
  expect(performance.now() - startedAt).toBeLessThan(5000 * slowdown())
  expect({ found, remaining }).toEqual({ found: 4, remaining: 0 })
  expect(processes).toBeGreaterThanOrEqual(5)
  expect(living(runs)).toEqual([])
  expect(await listProcessRuns(store.db)).toEqual([])
  expect(await endLeftovers(store.db)).toEqual({ runs: 0, processes: 0, remaining: 0 })
})

test('a server that was killed between the record and the start, or before the pid was recorded, leaves no process either', async () => {
  const runs = await startAndKill(`trap "" TERM; ${endless}`)
  await store.db.transaction(async tx => {
    await setProcessRunPid(tx, runs[0]!.runId, 0, null)
    await insertProcessRun(tx, { runId: 'never started', kind: 'agent', bootId })
  })
  expect(await endLeftovers(store.db)).toMatchObject({ runs: 2, remaining: 0 })
  expect(living(runs)).toEqual([])
  expect(await listProcessRuns(store.db)).toEqual([])
})

test('a process that now has the pid of a run, and the processes of another boot, continue', () =>
  withBystander(async (bystander, startedAt) => {
    await store.db.transaction(async tx => {
      await insertProcessRun(tx, { runId: 'reused', kind: 'agent', bootId })
      await setProcessRunPid(tx, 'reused', bystander.pid!, String(Number(startedAt) - 1))
      await insertProcessRun(tx, { runId: 'rebooted', kind: 'agent', bootId: '00000000-0000-0000-0000-000000000000' })
      await setProcessRunPid(tx, 'rebooted', bystander.pid!, startedAt)
    })
    expect(await endLeftovers(store.db)).toEqual({ runs: 2, processes: 0, remaining: 0 })
    expect(isAlive(bystander.pid!)).toBe(true)
    expect(await listProcessRuns(store.db)).toEqual([])
  }))

test('a run is also identified by its first process, if that hides its environment', () =>
  withBystander(async (bystander, startedAt) => {
    await store.db.transaction(async tx => {
      await insertProcessRun(tx, { runId: 'hidden', kind: 'agent', bootId })
      await setProcessRunPid(tx, 'hidden', bystander.pid!, startedAt)
    })
    expect(await endLeftovers(store.db)).toEqual({ runs: 1, processes: 1, remaining: 0 })
    expect(isAlive(bystander.pid!)).toBe(false)
  }))

test('a server that an agent of the killed one started is not ended by its own start', async () => {
  const [run] = await startAndKill(endless)
  const next = spawn(process.execPath, [successor, join(store.folder, 'board.db')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, BOARD_RUN_ID: run!.runId },
  })
  const said = text(next.stdout)
  expect(await once(next, 'exit')).toEqual([0, null])
  expect(JSON.parse(await said)).toMatchObject({ runs: 1, remaining: 0 })
  expect(living([run!])).toEqual([])
})

test('outside Linux, without access to environments, the processes of a killed server are identified by the first one', async () => {
  const [kept, other] = [parent, successor]
  const folder = join(store.folder, 'off-linux')
  await build({ ...bundling, outdir: folder, define: { 'process.platform': '"darwin"' } })
  parent = join(folder, 'parent.mjs')
  successor = join(folder, 'successor.mjs')
  try {
    const runs = await startAndKill(`trap "" TERM; setsid sh -c 'trap "" TERM; ${endless}' & ${endless}`)
    expect(
      JSON.parse(execFileSync(process.execPath, [successor, join(store.folder, 'board.db')], { encoding: 'utf8' })),
    ).toMatchObject({ runs: 1, remaining: 0 })
    expect(living(runs)).toEqual([])
  } finally {
    ;[parent, successor] = [kept, other]
  }
})

test('eight killed servers in a row leave no processes', async () => {
  for (let round = 0; round < 8; round++) {
    const runs = await startAndKill(
      ...[endless, `trap "" TERM; ${endless}`, `setsid sh -c '${endless}' & cat`].slice(0, 1 + (round % 3)),
    )
    expect((await endLeftovers(store.db)).remaining).toBe(0)
    expect(living(runs)).toEqual([])
  }
  expect(await listProcessRuns(store.db)).toEqual([])
})
