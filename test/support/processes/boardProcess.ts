import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createClient, type Client } from '../../../src/client/index.ts'
import { databaseOptions, testSandbox, untilOnDuty } from '../servers/testBoard.ts'
import { eventually } from '../waiting/eventually.ts'

/** The built program as a server in a separate process, which can be killed and restarted on its data folder. */
export interface BoardProcess {
  /** The client of the current run, as the local operator. */
  client: Client
  url: string
  token: string
  pid: number
  /** The stderr of the current run so far. */
  stderr: string
  /** Starts it and waits until it answers. */
  start(): Promise<void>
  /** Sends the signal, and waits for the end of the process. */
  end(signal: NodeJS.Signals): Promise<{ code: number | null; tookMs: number }>
  isRunning(): boolean
}

/**
 * @param env its whole environment in addition to PATH
 * @param program the program to run instead of the built one, with the same arguments
 */
export function boardProcess(
  dataDir: string,
  env: Record<string, string>,
  args: readonly string[] = [],
  program = resolve('bin/board.js'),
): BoardProcess {
  let child: ChildProcess | undefined
  const board: BoardProcess = {
    client: createClient({ url: 'http://127.0.0.1:1' }),
    url: '',
    token: '',
    pid: 0,
    stderr: '',
    async start() {
      board.stderr = ''
      const started = (child = spawn(
        process.execPath,
        [
          program,
          'serve',
          '--port',
          '0',
          '--data-dir',
          dataDir,
          '--log-level',
          'error',
          ...args,
          ...(await databaseOptions(dataDir)),
        ],
        {
          stdio: ['ignore', 'ignore', 'pipe'],
          env: { PATH: process.env.PATH ?? '', BOARD_SANDBOX: testSandbox, ...env },
        },
      ))
      started.stderr!.on('data', (chunk: Buffer) => {
        board.stderr += String(chunk)
        process.stderr.write(chunk)
      })
      const { url, token } = await eventually(
        'a server that answers',
        () => {
          if (started.exitCode !== null || started.signalCode !== null)
            throw new Error(`The server ended with ${started.exitCode ?? started.signalCode}.\n${board.stderr}`)
          return runtimeOf(dataDir, started.pid!)
        },
        30_000,
      )
      Object.assign(board, { url, token, pid: started.pid!, client: createClient({ url, token }) })
      await untilOnDuty(url, token)
    },
    async end(signal) {
      const began = performance.now()
      const exited = once(child!, 'exit')
      child!.kill(signal)
      const [code] = (await exited) as [number | null]
      child = undefined
      return { code, tookMs: performance.now() - began }
    },
    isRunning: () => child !== undefined && child.exitCode === null && child.signalCode === null,
  }
  return board
}

/** The content of a server's daemon.json, unless it is of an earlier process. */
function runtimeOf(dataDir: string, pid: number): { url: string; token: string } | undefined {
  try {
    const runtime = JSON.parse(readFileSync(join(dataDir, 'daemon.json'), 'utf8'))
    return runtime.pid === pid ? runtime : undefined
  } catch {
    return undefined
  }
}

/** Ends the server if it runs, and removes its folder. */
export async function clearAway(board: BoardProcess, root: string): Promise<void> {
  if (board.isRunning()) await board.end('SIGTERM')
  rmSync(root, { recursive: true, force: true, maxRetries: 5 })
}
