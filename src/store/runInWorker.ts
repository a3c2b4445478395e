import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import type { Value } from './database.ts'

/** A statement that takes long, and its parameters. */
export interface SlowStatement {
  sql: string
  args?: readonly Value[]
}
/** What went wrong in the other thread, with the engine's code. */
export interface EngineFailure extends Error {
  code?: string
}

/** The whole program of the other thread. It is given as text: no file has to be found beside a bundle. */
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
 * Runs statements one after the other on a database file, on a connection of their own in a thread of their own: the server goes
 * on answering meanwhile. They may only read, or write other files. Gives the rows of each statement.
 * @throws the engine's error (EngineFailure), or the signal's reason: what runs then ends by itself
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
    // The thread has let go of the file only when it has ended: two connections that close at once both leave the log to the other.
    worker.once('exit', code => {
      signal?.removeEventListener('abort', abort)
      settle(code)
    })
  })
}
