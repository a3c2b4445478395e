import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { median, note, type Figures } from './figures.ts'
import { drive } from './load.ts'
import { cpuMsOf, plainEnvironment } from './processes.ts'

const rawServer = `require('http').createServer((q,s)=>s.end('ok')).listen(0,'127.0.0.1',function(){console.log(this.address().port)})`
const rawMs = 1500
const rawClients = 32
const syncs = 101
const nodeRuns = 11
/** The file system type of a tmpfs on Linux. */
const tmpfs = 0x01021994

/**
 * Measures the speed of the machine, so that measurements of two machines can be compared. Records `machine/http`, the µs of processor
 * time of a request to a bare node:http server (of elapsed time if the system does not report it), `machine/fsync`, the ms of a sync
 * write of 4 KiB to the bench's folder, and `machine/node`, the ms of `node -e 0`.
 */
export async function measureMachine(folder: string, figures: Figures): Promise<void> {
  note(figures, 'machine/http', await rawRequestMicros())
  for (const ms of syncMs(join(folder, 'synced'))) note(figures, 'machine/fsync', ms)
  const env = plainEnvironment()
  for (let run = 0; run < nodeRuns; run++)
    note(
      figures,
      'machine/node',
      timed(() => spawnSync(process.execPath, ['-e', '0'], { env })),
    )
}

/** Measures the machine in a program's folder for temporary files, and returns the text of `machineText`. `busy` is its load at the start of the program. */
export async function describeMachine(busy: number): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'board-machine-'))
  const figures: Figures = new Map()
  try {
    await measureMachine(folder, figures)
    return machineText(figures, busy, folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The machine in a sentence: its hardware, its own speed, and its load at the start of the program. `folder` is the measured folder. */
export function machineText(figures: Figures, busy: number, folder: string): string {
  const [http, fsync, node] = ['http', 'fsync', 'node'].map(name => median(figures.get(`machine/${name}`)!)) as [
    number,
    number,
    number,
  ]
  return `${availableParallelism()} × ${cpus()[0]?.model.trim() || 'unknown processor'}, ${process.platform}, Node ${process.versions.node}: a request to a bare node:http server ${http.toFixed(0)} µs, a synced write of 4 KiB ${fsync.toFixed(2)} ms${statfsSync(folder).type === tmpfs ? ' (in memory)' : ''}, \`node -e 0\` ${node.toFixed(0)} ms; load ${busy.toFixed(1)} when it began.`
}

/** The load of the last minute. */
export const presentLoad = (): number => loadavg()[0]!

async function rawRequestMicros(): Promise<number> {
  const server = spawn(process.execPath, ['-e', rawServer], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const port = Number(String((await once(server.stdout, 'data'))[0]))
    const load = (durationMs: number) =>
      drive({ port, clients: rawClients, durationMs, token: '', next: () => ({ method: 'GET', path: '/' }) })
    await load(rawMs / 3)
    const before = cpuMsOf(server.pid!)
    const { requests, secs } = await load(rawMs)
    return (before === undefined ? secs * 1e6 : (cpuMsOf(server.pid!)! - before) * 1000) / requests
  } finally {
    server.kill('SIGKILL')
  }
}

function syncMs(path: string): number[] {
  const file = openSync(path, 'w')
  const page = Buffer.alloc(4096, 1)
  try {
    return Array.from({ length: syncs }, () =>
      timed(() => {
        writeSync(file, page)
        fsyncSync(file)
      }),
    )
  } finally {
    closeSync(file)
    rmSync(path)
  }
}

function timed(work: () => unknown): number {
  const startedAt = performance.now()
  work()
  return performance.now() - startedAt
}
