import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import type { Value } from './database.ts'

/** A slow statement and its parameters. */
export interface SlowStatement {
  sql: string
  args?: readonly Value[]
}
type Rows = Array<Record<string, unknown>>
/** Runs statements in order. @returns the rows of each. @throws EngineFailure */
export type Query = (statements: readonly SlowStatement[]) => Promise<Rows[]>
/** An error of the engine, with its code. */
export interface EngineFailure extends Error {
  code?: string
}
type Answer = { rows: Rows[] } | { failure: { code?: string; message: string } }

/** The program of the thread that has the database. */
const thread = `
  const { parentPort, workerData: { engine, path } } = require('node:worker_threads')
  let database
  const answer = statements => {
    database ??= new (require(engine))(path)
    return statements.map(({ sql, args = [] }) => {
      const statement = database.prepare(sql)
      return statement.reader ? statement.all(args) : [statement.run(args)]
    })
  }
  parentPort.on('message', statements => {
    try {
      parentPort.postMessage({ rows: answer(statements) })
    } catch ({ code, message }) {
      parentPort.postMessage({ failure: { code, message } })
    }
  })`

/** The process's whole program, as text: a bundle then needs no file beside it. It is gone as soon as whoever began it is. */
const program = `
  const { Worker } = require('node:worker_threads')
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
  process.once('message', workerData => {
    const worker = new Worker(${JSON.stringify(thread)}, { eval: true, workerData })
    worker.on('message', answer => process.send(answer))
    process.on('message', statements => worker.postMessage(statements))
  })`

/**
 * Has a process of its own run slow statements on a file, so that the server keeps answering, and may end it at any time: a thread that
 * is ended in the middle of a statement takes the whole server with it. Statements may only read, or write other files, unless nobody
 * else uses this one. The process is killed at the end, too: one that closes the file, and takes itself for its last user, deletes the
 * log, and whoever else has that would go on writing to what is gone. The file is released when this resolves.
 * @throws what `work` throws, or the signal's reason: the running statement goes no further then
 */
export async function besideServer<T>(
  path: string,
  work: (query: Query) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  signal?.throwIfAborted()
  const child = spawn(process.execPath, ['-e', program], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    serialization: 'advanced',
    env: { ...process.env, NODE_OPTIONS: undefined },
  })
  const exited = once(child, 'exit') as Promise<[code: number | null, signal: string | null]>
  const ended = exited.then(([code, by]): never => {
    throw signal?.aborted ? signal.reason : new Error(`The process of a database ended with ${code ?? by}.`)
  })
  ended.catch(() => {
    /* Told to whoever asks. */
  })
  const end = () => void child.kill('SIGKILL')
  signal?.addEventListener('abort', end, { once: true })
  const tell = (message: object) => {
    // One that could not be begun, or is gone, says so by its end.
    if (child.connected) child.send(message, () => {})
  }
  try {
    tell({ engine: createRequire(import.meta.url).resolve('libsql'), path })
    const asked = work(async statements => {
      const answered = once(child, 'message') as Promise<[Answer]>
      tell([...statements])
      const [answer] = await Promise.race([answered, ended])
      if ('failure' in answer) throw Object.assign(new Error(answer.failure.message), answer.failure)
      return answer.rows
    })
    return await Promise.race([asked, ended])
  } finally {
    end()
    await ended.catch(() => {})
    signal?.removeEventListener('abort', end)
  }
}
