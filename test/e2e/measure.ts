import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '../../src/client/index.ts'

/** The value below which this share of the values lies. */
export const percentile = (values: readonly number[], share: number): number => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))]!

/** "p50 3 ms, p99 12 ms, most 15 ms" */
export const shown = (values: readonly number[]): string => `p50 ${percentile(values, 0.5).toFixed(0)} ms, p99 ${percentile(values, 0.99).toFixed(0)} ms, most ${Math.max(...values).toFixed(0)} ms`

/** Asks for the server's health again and again. The returned function ends it and gives how long the answers took, in ms. */
export function watchHealth(client: () => Client, everyMs = 50): () => Promise<number[]> {
  const tookMs: number[] = []
  let isOver = false
  const asking = (async () => {
    while (!isOver) {
      const before = performance.now()
      await client().server.health()
      tookMs.push(performance.now() - before)
      await delay(everyMs)
    }
  })()
  return async () => {
    isOver = true
    await asking
    return tookMs
  }
}

/** What processor time a process has used, in milliseconds: the kernel counts in hundredths of a second. */
export const cpuMs = (pid: number): number => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ').slice(11, 13).reduce((sum, ticks) => sum + Number(ticks) * 10, 0)

/** The resident memory of a process, in MiB. */
export const memoryMiB = (pid: number): number => Number(/VmRSS:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024

/** How many files, sockets and pipes a process has open. */
export const openFiles = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length

/** Looks at a process's memory again and again. The returned function ends it and gives the most that was seen, in MiB. */
export function watchMemory(pid: number): () => number {
  let most = memoryMiB(pid)
  const timer = setInterval(() => { most = Math.max(most, memoryMiB(pid)) }, 20)
  return () => {
    clearInterval(timer)
    return Math.max(most, memoryMiB(pid))
  }
}
