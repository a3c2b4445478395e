import { fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { once } from 'node:events'
import type { Answer, Job, Question, Sample } from './ipc.ts'

/** A server in a separate process. */
export interface Child {
  port: number
  /** CPU time that the process has used so far, in microseconds. */
  cpuMicros(): Promise<number>
  /** CPU time of the processes that it has started and waited for, in microseconds, by the kernel's clock of 10 ms; 0 except on Linux. */
  childrenCpuMicros(): number
  /** Current and peak resident memory in bytes. */
  memory(): Promise<Required<Pick<Answer, 'residentBytes' | 'peakBytes'>>>
  /** Selects the work of a process of bare servers from now on. */
  use(job: Job, sample: Sample): Promise<void>
  stop(): Promise<void>
}

/** The folder in which a child writes a CPU profile and records the processes it starts, with the program that is preloaded. */
export interface Watched {
  profileDir?: string
  trace?: { program: string; file: string }
}

/** Starts a script with its options and waits until it listens. */
export async function startChild(
  script: string,
  options: unknown,
  { profileDir, trace }: Watched = {},
): Promise<Child> {
  const child = fork(script, [JSON.stringify(options)], {
    execArgv: [
      ...(profileDir ? ['--cpu-prof', `--cpu-prof-dir=${profileDir}`] : []),
      ...(trace ? ['--import', trace.program] : []),
    ],
    env: { ...process.env, ...(trace && { BOARD_BENCH_TRACE: trace.file }) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit')
  const broken = exited.then(([code]) => {
    throw new Error(`${script} ended with ${String(code)}.`)
  })
  broken.catch(() => {
    /* Reject the pending answers. */
  })
  const answer = async () => (await Promise.race([once(child, 'message'), broken]))[0] as Answer & { port?: number }
  const ask = (question: Question) => {
    const answered = answer()
    child.send(question)
    return answered
  }
  return {
    port: (await answer()).port!,
    cpuMicros: async () => (await ask({ ask: 'cpu' })).cpuMicros!,
    childrenCpuMicros: () => childrenCpuMicros(child.pid!),
    memory: async () => (await ask({ ask: 'memory' })) as Required<Answer>,
    use: async (job, sample) => {
      await ask({ ask: 'use', job, sample })
    },
    stop: async () => {
      child.send({ ask: 'stop' } satisfies Question)
      await exited
    },
  }
}

const tickMicros = 10_000

function childrenCpuMicros(pid: number): number {
  if (process.platform !== 'linux') return 0
  // The fields after the name, which can contain any character: the 16th and the 17th field of the line.
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)!.split(' ')
  return (Number(fields[13]) + Number(fields[14])) * tickMicros
}
