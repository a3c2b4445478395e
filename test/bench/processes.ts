import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { note, type Figures } from './figures.ts'

const rawServer = `require('http').createServer((q,s)=>s.end('ok')).listen(0,'127.0.0.1',function(){console.log('Listening on http://127.0.0.1:'+this.address().port)})`
const idleMs = 1500

/** The path of the program, its data folder and one with few cards, and the project whose cards are listed. */
export interface Program {
  board: string
  dataDir: string
  smallDataDir: string
  projectId: number
}

/** The environment without extra certificates, which Node reads at each start, and without a user's profile, which could name another server. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const { NODE_EXTRA_CA_CERTS: _certificates, NODE_OPTIONS: _options, ...inherited } = process.env
  return Object.fromEntries(Object.entries(inherited).filter(([name]) => !name.startsWith('BOARD_')))
}

function environment({ dataDir, projectId }: Pick<Program, 'dataDir' | 'projectId'>): NodeJS.ProcessEnv {
  return {
    ...plainEnvironment(),
    BOARD_DATA_DIR: dataDir,
    BOARD_PROJECT: String(projectId),
    XDG_CONFIG_HOME: dataDir,
    NO_COLOR: '1',
    BOARD_COMPLETION_TIMEOUT_MS: '5000',
  }
}

/** Times whole processes in turn and records `node`, `version`, `cards` and `completion` in ms. A server runs on the data folder. */
export function measureCommands(program: Program, runs: number, figures: Figures): void {
  const env = environment(program)
  const commands = {
    node: ['-e', '0'],
    version: [program.board, '--version'],
    cards: [program.board, 'cards', 'list'],
    completion: [program.board, '__complete', '--', 'cards', 'view', ''],
  }
  const run = (args: readonly string[]) => {
    const startedAt = performance.now()
    const { status, stderr } = spawnSync(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const tookMs = performance.now() - startedAt
    if (status !== 0) throw new Error(`${args.join(' ')} ended with ${String(status)}: ${String(stderr)}`)
    return tookMs
  }
  for (const args of Object.values(commands)) run(args)
  for (let turn = 0; turn < runs; turn++)
    for (const [name, args] of Object.entries(commands)) note(figures, `commands/${name}`, run(args))
}

/**
 * Starts `board serve` on both data folders and a raw server in turn; records `start/board`, `start/small` and `start/raw` to the first response in ms,
 * the CPU time until then if the system reports it, and the board's idle memory in MB.
 */
export async function measureStarts(program: Program, runs: number, figures: Figures): Promise<void> {
  const sides = {
    raw: { args: ['-e', rawServer], dataDir: program.dataDir },
    board: { args: [program.board, 'serve', '--port', '0'], dataDir: program.dataDir },
    small: { args: [program.board, 'serve', '--port', '0'], dataDir: program.smallDataDir },
  }
  for (let turn = 0; turn <= runs; turn++) {
    for (const [name, { args, dataDir }] of Object.entries(sides)) {
      const startedAt = performance.now()
      const child = spawn(process.execPath, args, {
        env: environment({ ...program, dataDir }),
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      await firstAnswer(child)
      const [tookMs, cpuMs] = [performance.now() - startedAt, cpuMsOf(child.pid!)]
      if (turn > 0) note(figures, `start/${name}`, tookMs)
      if (turn > 0 && cpuMs !== undefined) note(figures, `start/${name}/cpu`, cpuMs)
      if (turn === runs && name === 'board') {
        await delay(idleMs)
        note(figures, 'memory/idle', residentMegabytes(child.pid!))
      }
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
  }
}

/** Linux reports the CPU time of each thread of a process. */
export function cpuMsOf(pid: number): number | undefined {
  const folder = `/proc/${pid}/task`
  if (!existsSync(folder)) return undefined
  return readdirSync(folder).reduce(
    (sum, thread) => sum + Number(readFileSync(`${folder}/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6,
    0,
  )
}

async function firstAnswer(child: ChildProcess): Promise<void> {
  for await (const line of createInterface({ input: child.stdout! })) {
    const url = /^Listening on (http:\S+)$/.exec(line)?.[1]
    if (!url) continue
    const [response] = await once(request(`${url}/api/health`).end(), 'response')
    response.resume()
    return
  }
  throw new Error('A server ended before it listened.')
}

/** Resident memory of a process, including shared pages. */
export function residentMegabytes(pid: number): number {
  const status = `/proc/${pid}/status`
  const kibibytes = existsSync(status)
    ? /VmRSS:\s*(\d+)/.exec(readFileSync(status, 'utf8'))![1]
    : execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })
  return Number(kibibytes) / 1024
}
