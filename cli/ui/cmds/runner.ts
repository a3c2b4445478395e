import { retry } from '../../../src/async/retry.ts'
import { createSerialQueue } from '../../../src/async/serialQueue.ts'
import type { ApiFailure } from '../../../src/client/index.ts'
import type { Context } from '../../context/context.ts'
import { exitOf } from '../../failures/failure.ts'
import type { Cmd, Msg } from '../state/model.ts'
import { forcedOf } from '../state/forcing.ts'
import { changesOf } from './changes.ts'
import { isQuiet, readsOf } from './reads.ts'
import { reasonOf } from './reason.ts'

/** The commands that involve the server or other programs. */
export type Job = Exclude<Cmd, { type: 'quit' | 'interrupt' | 'stop' | 'redraw' }>
export type JobOf<Type extends Job['type']> = Extract<Job, { type: Type }>

/** The project and board shown while a command runs. */
export interface Shown {
  projectId: string
  projectName: string
  boardId: string
}
export interface CmdHooks {
  dispatch: (msg: Msg) => void
  /** Suspends the board while another program uses the terminal. */
  suspendWhile: <T>(work: () => Promise<T>) => Promise<T>
  /** Copies a text to the terminal's clipboard. */
  copy: (text: string) => void
}
export interface CmdRunner {
  run(job: Job): void
  close(): void
}

const retryMs = 1000

/**
 * Runs the model's commands and dispatches their results. Changes are sent in their order, in the project that was
 * shown when they were made.
 */
export function createCmdRunner(context: Context, shown: () => Shown, hooks: CmdHooks): CmdRunner {
  let isClosed = false
  const changes = createSerialQueue()
  const dispatch = (msg: Msg | void) => {
    if (msg && !isClosed) hooks.dispatch(msg)
  }
  const refused = (error: unknown, job: Job) =>
    dispatch({
      type: 'refused',
      moveId: 'move' in job ? job.move.id : undefined,
      text: reasonOf(error),
      forced: forcedOf(job, (error as Partial<ApiFailure>).code),
    })
  const read = (job: Job, ask: () => Promise<Msg>) =>
    void retryWhileUnreachable(ask, () => isClosed).then(dispatch, error => {
      if (!isQuiet(job)) refused(error, job)
    })
  const change = (job: Job, act: () => Promise<Msg | void>) => {
    void changes(() => retryOnRateLimit(act)).then(dispatch, error => refused(error, job))
  }
  return {
    run: job => {
      const place = shown()
      const ask = (readsOf(context, place) as Table<Msg>)[job.type]
      if (ask) return read(job, () => ask(job))
      const act = (changesOf(context, place, hooks) as Table<Msg | void>)[job.type]
      // Not queued: a background command may take long.
      if (act && job.type === 'userCommand' && job.command.background)
        void act(job).then(dispatch, error => refused(error, job))
      else if (act) change(job, () => act(job))
    },
    close: () => {
      isClosed = true
    },
  }
}

type Table<Result> = Partial<Record<Job['type'], (job: Job) => Promise<Result>>>

/** Retries a change after the time that a rate limit asks for. */
const retryOnRateLimit = <T>(act: () => Promise<T>): Promise<T> =>
  retry(act, {
    delayMs: error => {
      const { status, retryAfterSecs } = error as ApiFailure
      return status === 429 && retryAfterSecs !== undefined ? retryAfterSecs * 1000 : undefined
    },
    ref: false,
  })

/** Retries a read while the server is unreachable or busy. */
const retryWhileUnreachable = <T>(read: () => Promise<T>, isOver: () => boolean): Promise<T> =>
  retry(read, { delayMs: error => (exitOf(error) === 'unreachable' && !isOver() ? retryMs : undefined), ref: false })
