import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Job, Question, Sample } from './ipc.ts'

/** A server in a process of its own. */
export interface Child {
  port: number
  /** CPU time that the process has used so far, in microseconds. */
  cpuMicros(): Promise<number>
  /** Chooses what a process of bare servers does from now on. */
  use(job: Job, sample: Sample): Promise<void>
  stop(): Promise<void>
}

/** Starts a script with its options and waits until it listens. `profileDir` makes it leave a CPU profile there. */
export async function startChild(script: string, options: unknown, profileDir?: string): Promise<Child> {
  const child = fork(script, [JSON.stringify(options)], { execArgv: profileDir ? ['--cpu-prof', `--cpu-prof-dir=${profileDir}`] : [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const exited = once(child, 'exit')
  const broken = exited.then(([code]) => { throw new Error(`${script} ended with ${String(code)}.`) })
  broken.catch(() => { /* Whoever waits for an answer is told. */ })
  const answer = async () => {
    const [message] = await Promise.race([once(child, 'message'), broken]) as [{ value?: number }]
    return message.value!
  }
  const ask = (question: Question) => {
    const answered = answer()
    child.send(question)
    return answered
  }
  return {
    port: await answer(),
    cpuMicros: () => ask({ ask: 'cpu' }),
    use: async (job, sample) => { await ask({ ask: 'use', job, sample }) },
    stop: async () => {
      child.send({ ask: 'stop' } satisfies Question)
      await exited
    },
  }
}
