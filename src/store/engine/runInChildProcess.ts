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

/** The program of the thread that opens the database. */
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

/** The whole program of the process, as text, so that a bundle needs no separate file. The process exits when its parent does. */
const program = `
  const { Worker } = require('node:worker_threads')
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
  process.once('message', workerData => {
    const worker = new Worker(${JSON.stringify(thread)}, { eval: true, workerData })
    worker.on('message', answer => process.send(answer))
    process.on('message', statements => worker.postMessage(statements))
  })`

/**
 * Runs slow statements on a file in a separate process, so that the server keeps answering and can end them at any time:
 * terminating a thread in the middle of a statement would crash the server. Statements must only read or write other files,
 * unless nothing else uses this file. The process is killed at the end as well. If it closed the file and considered itself the
 * last user, it would delete the log while other users continue to write to it. The file is released when this resolves.
 * @throws errors of `work`, or the signal's reason, which interrupts the running statement
 */
export async function runInChildProcess<T>(
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
    /* Each query reports the error. */
  })
  const end = () => void child.kill('SIGKILL')
  signal?.addEventListener('abort', end, { once: true })
  const send = (message: object) => {
    // If the process failed to start or has exited, its exit event reports that.
    if (child.connected) child.send(message, () => {})
  }
  try {
    send({ engine: createRequire(import.meta.url).resolve('libsql'), path })
    const results = work(async statements => {
      const answered = once(child, 'message') as Promise<[Answer]>
      send([...statements])
      const [answer] = await Promise.race([answered, ended])
      if ('failure' in answer) throw Object.assign(new Error(answer.failure.message), answer.failure)
      return answer.rows
    })
    return await Promise.race([results, ended])
  } finally {
    end()
    await ended.catch(() => {})
    signal?.removeEventListener('abort', end)
  }
}
