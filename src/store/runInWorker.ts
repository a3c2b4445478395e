import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import type { Value } from './database.ts'

/** A slow statement and its parameters. */
export interface SlowStatement {
  sql: string
  args?: readonly Value[]
}
/** An error of the worker thread, with the engine's code. */
export interface EngineFailure extends Error {
  code?: string
}

/** The worker's whole program, as text: a bundle then needs no file beside it. */
const program = `
const { parentPort, workerData: { engine, path, statements } } = require('node:worker_threads')
try {
  const database = new (require(engine))(path)
  try {
    const rows = statements.map(({ sql, args = [] }) => {
      const statement = database.prepare(sql)
      return statement.reader ? statement.all(args) : [statement.run(args)]
    })
    parentPort.postMessage({ rows })
  } finally { database.close() }
} catch ({ code, message }) { parentPort.postMessage({ failure: { code, message } }) }`

/**
 * Runs statements in order on a connection and a thread of their own, so that the server keeps answering. They may
 * only read, or write other files, unless nobody else uses this one. @returns the rows of each statement
 * @throws the engine's error (EngineFailure), or the signal's reason: the running statement then ends by itself
 */
export function runInWorker(
  path: string,
  statements: readonly SlowStatement[],
  signal?: AbortSignal,
): Promise<Array<Array<Record<string, unknown>>>> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const engine = createRequire(import.meta.url).resolve('libsql')
    const worker = new Worker(program, { eval: true, execArgv: [], workerData: { engine, path, statements } })
    let settle = (code: number): void =>
      reject(signal?.aborted ? signal.reason : new Error(`The thread of a database ended with ${code}.`))
    const abort = () => {
      void worker.terminate()
    }
    signal?.addEventListener('abort', abort, { once: true })
    worker.once('message', ({ rows, failure }) => {
      settle = () =>
        failure ? reject(Object.assign(new Error(failure.message), { code: failure.code })) : resolve(rows)
    })
    worker.once('error', reject)
    // The thread has released the file only at its exit: of two connections that close at once, each leaves deleting
    // the log to the other.
    worker.once('exit', code => {
      signal?.removeEventListener('abort', abort)
      settle(code)
    })
  })
}
