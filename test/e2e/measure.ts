import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { WebSocket } from 'undici'
import { expect, onTestFinished } from 'vitest'
import type { BoardProcess } from '../support/processes/boardProcess.ts'
import { statOf } from '../support/processes/processFiles.ts'

/** The value below which this share of the values is. */
export const percentile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))]!

/** "p50 3.1 ms, p99 12.0 ms, most 15.2 ms (300)" */
export const shown = (values: readonly number[]): string =>
  values.length === 0
    ? 'none'
    : `p50 ${percentile(values, 0.5).toFixed(1)} ms, p99 ${percentile(values, 0.99).toFixed(1)} ms, most ${percentile(values, 1).toFixed(1)} ms (${values.length})`

/** A program of the fixtures that runs until it gets SIGTERM or the test is over, and the first line that it printed. */
export async function startFixture(
  name: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<{ child: ChildProcess; line: string }> {
  const child = spawn(process.execPath, [resolve(`test/fixtures/${name}.mjs`), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH ?? '', ...env },
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  return { child, line: await nextLine(child) }
}

/** The next line that a program of the fixtures prints. Call it for one line at a time. */
export const nextLine = (child: ChildProcess): Promise<string> =>
  new Promise((done, fail) => {
    let text = ''
    const end = (settle: () => void) => {
      child.stdout!.off('data', onData).off('end', onEnd)
      settle()
    }
    const onData = (chunk: Buffer) => {
      text += String(chunk)
      if (text.endsWith('\n')) end(() => done(text.trim()))
    }
    const onEnd = () => end(() => fail(new Error(`${child.spawnargs.slice(1, 3).join(' ')} ended without a word.`)))
    child.stdout!.on('data', onData).on('end', onEnd)
  })

/** How many milliseconds responses took: of the server's health, of a request that reads the database, and of a bare server, which measures the load of the machine. */
export interface Answers {
  health: number[]
  reads: number[]
  machine: number[]
}

/** Queries a server's health every ten milliseconds, from a separate process. */
export async function startProbe(board: BoardProcess): Promise<{ end(): Promise<Answers> }> {
  const bare = await startFixture('bare')
  const { child } = await startFixture(
    'pings',
    ['10', `${board.url}/api/health`, `${board.url}/api/projects`, bare.line],
    { PINGS_TOKEN: board.token },
  )
  return {
    end: async () => {
      const told = nextLine(child)
      child.kill('SIGTERM')
      const [health, reads, machine] = JSON.parse(await told) as [number[], number[], number[]]
      bare.child.kill()
      await Promise.all([child, bare.child].map(each => each.exitCode ?? each.signalCode ?? once(each, 'exit')))
      return { health, reads, machine }
    },
  }
}

/** Expects responses within their aim, plus the delay that a bare server measures on a busy machine. */
export function expectQuick({ health, reads, machine }: Answers, aimMs: number): void {
  const maxMs = aimMs + 5 * percentile(machine, 0.99)
  expect(percentile(health, 0.99)).toBeLessThan(maxMs)
  expect(percentile(reads, 0.99)).toBeLessThan(maxMs)
}

export const shownAnswers = ({ health, reads, machine }: Answers): string =>
  `health ${shown(health)}; reads ${shown(reads)}; the machine itself (a bare server) ${shown(machine)}`

/** The processor time of a process, in milliseconds: the kernel counts in hundredths of a second. */
export const cpuMs = (pid: number): number =>
  statOf(pid)
    .slice(11, 13)
    .reduce((sum, ticks) => sum + Number(ticks) * 10, 0)

/** The current or peak memory of a process, in MiB. */
export const memoryMiB = (pid: number, which: 'now' | 'peak' = 'now'): number =>
  Number(
    new RegExp(`${which === 'now' ? 'VmRSS' : 'VmHWM'}:\\s*(\\d+)`).exec(
      readFileSync(`/proc/${pid}/status`, 'utf8'),
    )![1],
  ) / 1024

/** The number of open files, sockets and pipes of a process. */
export const openFiles = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length

/** Measures a process's memory repeatedly. The returned function stops that and returns the peak, in MiB. */
export function watchMemory(pid: number): () => number {
  let maxMiB = memoryMiB(pid)
  const timer = setInterval(() => {
    // A server that ended is detected by the test.
    try {
      maxMiB = Math.max(maxMiB, memoryMiB(pid))
    } catch {
      clearInterval(timer)
    }
  }, 20)
  return () => {
    clearInterval(timer)
    return Math.max(maxMiB, memoryMiB(pid))
  }
}

/** The live heap of a process after a collection, in MiB. `stderr` is its output with the address of its inspector. */
export async function heapMiB(stderr: string): Promise<number> {
  const inspector = new WebSocket(/ws:\/\/\S+/.exec(stderr)![0])
  await new Promise((done, fail) => {
    inspector.addEventListener('open', done)
    inspector.addEventListener('error', () => fail(new Error('The inspector does not answer.')))
  })
  const ask = (id: number, method: string) =>
    new Promise<{ usedSize: number }>(done => {
      inspector.addEventListener('message', ({ data }) => {
        const answer = JSON.parse(String(data))
        if (answer.id === id) done(answer.result)
      })
      inspector.send(JSON.stringify({ id, method }))
    })
  for (const id of [1, 2, 3]) await ask(id, 'HeapProfiler.collectGarbage')
  const { usedSize } = await ask(4, 'Runtime.getHeapUsage')
  inspector.close()
  return usedSize / 2 ** 20
}
