import { coalesce } from '../../async/coalesce.ts'
import {
  runBatch,
  runStatement,
  ServerError,
  type Connection,
  type Rows,
  type Statement,
  type Stream,
} from './remote/hrana.ts'
import { openHrana, staysOpen } from './remote/openHrana.ts'
import { runBatchTransaction } from './remote/remoteTransaction.ts'

const maxStreams = 8
/** Limits the delay, because statements of one message wait for each other. */
const maxBatch = 8

/** A statement whose rows a caller waits for. */
interface Waiting {
  statement: Statement
  resolve(rows: Rows): void
  reject(error: unknown): void
}

/** Runs single read statements, and heartbeats, on one connection to a libSQL server. */
export interface ReadingStreams {
  execute(statement: Statement): Promise<Rows>
  /**
   * Returns a text that changes with each commit of any client, while this connection is open. Undefined if the server does
   * not support it. Concurrent calls share one query, which is sent after the call.
   */
  dataVersion: () => Promise<string | undefined>
  /**
   * Runs a transaction in one message, which does not change the version. While the transaction runs, the version is unavailable.
   * For data that is never read through a cache.
   * @throws the errors of `runBatchTransaction`
   */
  batch(statements: readonly Statement[]): Promise<Rows[]>
  /** Abandons a batch without an answer. Its transaction is rolled back. */
  dropBatch(): void
  readonly closed: boolean
  close(): void
}

/**
 * Uses persistent streams if possible: the server opens the database for each new stream, which costs more than most statements (8 readers:
 * 2,500 statements a second with separate streams, 10,300 with these). Concurrent statements, and statements that arrive while every stream
 * is busy, are batched, because a message costs more than a statement.
 */
export function openReadingStreams(url: string, token?: string): ReadingStreams {
  const client = openHrana(url, token)
  const keeps = staysOpen(url)
  let [idle, busy]: [Stream[], number] = [[], 0]
  const queue: Waiting[] = []
  let isDue = false

  const dispatch = () => {
    isDue = false
    idle = idle.filter(({ closed }) => !closed)
    while (queue.length > 0 && busy < maxStreams) void runOn(idle.pop(), queue.splice(0, maxBatch))
  }
  const runOn = async (open: Stream | undefined, batch: readonly Waiting[]) => {
    busy++
    try {
      const stream = open ?? client.openStream()
      await answer(stream, batch)
      if (keeps) idle.push(stream)
      else stream.close()
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    busy--
    dispatch()
  }
  const ask = (waiting: Waiting) => {
    queue.push(waiting)
    if (!isDue) setImmediate(dispatch)
    isDue = true
  }
  return {
    execute: statement => new Promise((resolve, reject) => ask({ statement, resolve, reject })),
    ...openVersionStream(client, keeps),
    get closed() {
      return client.closed
    },
    close: () => client.close(),
  }
}

/**
 * SQLite counts the commits of other connections, separately for each connection. Commits on this stream do not change its
 * version, and another stream has a different count.
 */
function openVersionStream(
  client: Connection,
  tells: boolean,
): Pick<ReadingStreams, 'dataVersion' | 'batch' | 'dropBatch'> {
  let current: { stream: Stream; number: number } | undefined
  let [opened, batches] = [0, 0]
  const present = () => {
    if (current && !current.stream.closed) return current
    const number = ++opened
    return (current = { stream: client.openStream(), number })
  }
  const ask = coalesce(async () => {
    // A batch can wait for another daemon, and readers must not wait with it.
    if (batches > 0) return undefined
    try {
      const { stream, number } = present()
      const { rows } = await runStatement(stream, { sql: 'PRAGMA data_version', args: [] })
      return `${number} ${String(rows[0]?.[0])}`
    } catch (error) {
      // Some servers do not allow this query.
      if (error instanceof ServerError) return undefined
      throw error
    }
  })
  return {
    dataVersion: tells ? ask : async () => undefined,
    batch: async statements => {
      batches++
      let used: Stream | undefined
      try {
        used = present().stream
        return await runBatchTransaction(used, statements)
      } catch (error) {
        used?.close()
        throw error
      } finally {
        batches--
      }
    },
    dropBatch: () => current?.stream.close(),
  }
}

async function answer(stream: Stream, batch: readonly Waiting[]): Promise<void> {
  const results = await runBatch(
    stream,
    batch.map(({ statement }) => ({ statement, inside: false })),
  )
  for (const [at, result] of results.entries()) {
    if ('rows' in result) batch[at]!.resolve(result.rows)
    else batch[at]!.reject('error' in result ? result.error : new Error('A statement was skipped.'))
  }
}
