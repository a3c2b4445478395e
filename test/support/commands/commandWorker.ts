import { fork, type ChildProcess } from 'node:child_process'
import { resolve } from 'node:path'

export interface Ran {
  code: number | null
  stdout: string
  stderr: string
}

/** The mark that a worker writes to both streams when a command has ended. */
const ended = '\0'

interface Worker {
  run(words: readonly string[], env: Record<string, string>, cwd: string): Promise<Ran>
}

/** The idle workers. All files of a test process share them. */
const global: { idleWorkers?: Worker[] } = globalThis as never
const idle = (global.idleWorkers ??= [])

/** Runs a command line in a reused process, with an empty stdin. Also returns the result of a command that exits the process. */
export async function runWarm(words: readonly string[], env: Record<string, string>, cwd: string): Promise<Ran> {
  return (idle.pop() ?? startWorker()).run(words, env, cwd)
}

function startWorker(): Worker {
  const child = fork(resolve(import.meta.dirname, '../../fixtures/commandWorker.mjs'), {
    execArgv: [],
    env: {},
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const worker: Worker = {
    run: (words, env, cwd) =>
      new Promise(done => {
        const ran = { stdout: '', stderr: '', code: undefined as number | null | undefined }
        const finish = (isIdle: boolean) => {
          for (const stream of [child.stdout!, child.stderr!]) stream.removeAllListeners('data')
          child.removeAllListeners()
          if (isIdle) idle.push(worker)
          hold(child, false)
          done({ code: ran.code!, stdout: ran.stdout.replace(ended, ''), stderr: ran.stderr.replace(ended, '') })
        }
        const look = () => {
          if (ran.code !== undefined && ran.stdout.endsWith(ended) && ran.stderr.endsWith(ended)) finish(true)
        }
        for (const name of ['stdout', 'stderr'] as const)
          child[name]!.setEncoding('utf8').on('data', (text: string) => {
            ran[name] += text
            look()
          })
        child.on('message', code => {
          ran.code = code as number
          look()
        })
        child.on('close', code => {
          ran.code = code
          finish(false)
        })
        hold(child, true)
        child.send({ words, env, cwd })
      }),
  }
  return worker
}

/** An idle worker keeps no process alive. */
function hold(child: ChildProcess, isHeld: boolean): void {
  for (const each of [child, child.channel, child.stdout, child.stderr] as Array<{
    ref?(): void
    unref?(): void
  } | null>)
    if (isHeld) each?.ref?.()
    else each?.unref?.()
}
