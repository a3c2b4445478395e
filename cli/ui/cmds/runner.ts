import { retry } from '../../../src/async/retry.ts'
import { createSerialQueue } from '../../../src/async/serialQueue.ts'
import type { ApiFailure } from '../../../src/client/index.ts'
import type { Context } from '../../context/context.ts'
import { exitOf } from '../../failures/failure.ts'
import { openEditor } from '../../input/editor.ts'
import { cardOfCmd, type Msg } from '../state/model.ts'
import { forcedOf } from '../state/forcedChange.ts'
import { typedTextOfCmd } from '../state/typedText.ts'
import type { Hold } from '../terminal/session.ts'
import { changesOf } from './changes.ts'
import type { CmdHooks, Job, JobHooks, ShownBoard } from './job.ts'
import { isQuiet, readsOf } from './reads.ts'
import { reasonOf } from './reason.ts'

export interface CmdRunner {
  run(job: Job): void
  /** Resolves when all changes have ended, including queued ones. Their results are not dispatched. */
  close(): Promise<void>
}

const retryMs = 1000

/**
 * Runs the model's commands and dispatches their results. Changes are sent in order, to the project that was visible
 * when the user made the change.
 */
export function createCmdRunner(context: Context, shown: () => ShownBoard, hooks: CmdHooks): CmdRunner {
  let isClosed = false
  const changes = createSerialQueue()
  const dispatch = (msg: Msg | void) => {
    if (msg && !isClosed) hooks.dispatch(msg)
  }
  const dispatchRefusal = (error: unknown, job: Job) =>
    dispatch({
      type: 'refused',
      moveId: 'move' in job ? job.move.id : undefined,
      selects: job.wasSelected ? cardOfCmd(job) : undefined,
      text: reasonOf(error),
      forced: forcedOf(job, (error as Partial<ApiFailure>).code),
    })
  const runRead = (job: Job, read: () => Promise<Msg>) =>
    void retryWhileUnreachable(read, () => isClosed).then(dispatch, error => {
      if (!isQuiet(job)) dispatchRefusal(error, job)
    })
  const runChange = (job: Job, visible: ShownBoard) => {
    const held = usesTerminal(job) ? hooks.hold() : undefined
    const change = (changesOf(context, visible, jobHooks(hooks, held)) as Handlers<Msg | void>)[job.type]
    if (!change) return
    // Not queued, because a background command can take long.
    if (job.type === 'userCommand' && job.command.background)
      return void change(job).then(dispatch, error => dispatchRefusal(error, job))
    const typed = typedTextOfCmd(job)
    const unsaved = typed && hooks.unsaved.add(typed.filename, typed.text, true)
    const done = changes(() => retryOnRateLimit(() => change(job))).finally(() => held?.release())
    void (unsaved ? unsaved.save(() => done) : done).then(dispatch, error => dispatchRefusal(error, job))
  }
  return {
    run: job => {
      const visible = shown()
      const read = (readsOf(context, visible) as Handlers<Msg>)[job.type]
      if (read) runRead(job, () => read(job))
      else runChange(job, visible)
    },
    close: () => {
      isClosed = true
      return changes.idle()
    },
  }
}

const usesTerminal = (job: Job): boolean =>
  job.type === 'edit' ||
  job.type === 'writeComment' ||
  job.type === 'writePrompt' ||
  (job.type === 'userCommand' && !job.command.background)

function jobHooks({ suspendWhile, copy, unsaved }: CmdHooks, held: Hold | undefined): JobHooks {
  const suspend = <T>(work: () => Promise<T>) => suspendWhile(held!, work)
  return {
    copy,
    suspendWhile: suspend,
    write: async (filename, text, isTyped) => {
      const written = unsaved.add(filename, text, isTyped)
      await suspend(() => openEditor(written)).catch((error: unknown) => {
        throw written.failure(error)
      })
      return written
    },
  }
}

/** The functions that run jobs, by the type of the job. */
type Handlers<Result> = Partial<Record<Job['type'], (job: Job) => Promise<Result>>>

/** Retries a change after the delay of a rate limit. */
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
