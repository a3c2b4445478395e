import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Answer, Job, Question, Sample } from './ipc.ts'

/** A server in a process of its own. */
export interface Child {
  port: number
  /** CPU time that the process has used so far, in microseconds. */
  cpuMicros(): Promise<number>
  /** Resident memory in bytes, now and at most so far. */
  memory(): Promise<Required<Pick<Answer, 'residentBytes' | 'peakBytes'>>>
  /** Chooses what a process of bare servers does from now on. */
  use(job: Job, sample: Sample): Promise<void>
  stop(): Promise<void>
}

/** Starts a script with its options and waits until it listens. `profileDir` makes it leave a CPU profile there. */
export async function startChild(script: string, options: unknown, profileDir?: string): Promise<Child> {
  const child = fork(script, [JSON.stringify(options)], {
    execArgv: profileDir ? ['--cpu-prof', `--cpu-prof-dir=${profileDir}`] : [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit')
  const broken = exited.then(([code]) => {
    throw new Error(`${script} ended with ${String(code)}.`)
  })
  broken.catch(() => {
    /* Whoever waits for an answer is told. */
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
