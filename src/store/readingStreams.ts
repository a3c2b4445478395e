import { coalesce } from '../async/coalesce.ts'
import { gather, type Waiting } from './gather.ts'
import {
  runBatch,
  runStatement,
  ServerError,
  type Connection,
  type Rows,
  type Statement,
  type Stream,
} from './hrana.ts'
import { openHrana, staysOpen } from './openHrana.ts'
import { runBatchTransaction } from './remoteTransaction.ts'

const maxStreams = 8
/** Statements of one message wait for each other. */
const maxBatch = 8

/** Runs single statements that read, and heartbeats, on one connection to a libSQL server. */
export interface ReadingStreams {
  execute(statement: Statement): Promise<Rows>
  /**
   * What is another text after each commit of anybody, as long as this connection lives; undefined where the server
   * does not tell. It is asked after the call, once for all who call meanwhile.
   */
  dataVersion: () => Promise<string | undefined>
  /**
   * Runs a transaction in one message, which leaves the version as it is; while it runs nobody can tell the version.
   * For what nobody reads through a cache.
   * @throws as `runBatchTransaction` does
   */
  batch(statements: readonly Statement[]): Promise<Rows[]>
  /** Gives up a batch that is not answered: what it has begun is rolled back. */
  dropBatch(): void
  readonly closed: boolean
  close(): void
}

/**
 * Persistent streams where possible: for each new stream the server opens the database anew, which costs more than
 * most statements (8 readers: 2,500 statements a second with a stream each, 10,300 with these). Statements asked for
 * at the same moment, or while every stream is busy, are batched: a message costs more than a statement.
 */
export function openReadingStreams(url: string, token?: string): ReadingStreams {
  const client = openHrana(url, token)
  const keeps = staysOpen(url)
  let [idle, busy]: [Stream[], number] = [[], 0]
  let queue: Waiting[] = []
  let isDue = false

  const dispatch = () => {
    isDue = false
    idle = idle.filter(({ closed }) => !closed)
    if (busy < maxStreams) queue = gather(queue, ask)
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
 * SQLite counts for each connection, and what others commit alone: what this stream itself commits changes no version,
 * and another stream counts anew.
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
    // A batch may wait for another daemon, and whoever reads shall not.
    if (batches > 0) return undefined
    try {
      const { stream, number } = present()
      const { rows } = await runStatement(stream, { sql: 'PRAGMA data_version', args: [] })
      return `${number} ${String(rows[0]?.[0])}`
    } catch (error) {
      // Some servers let nobody ask for it.
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
    else batch[at]!.reject('error' in result ? result.error : new Error('A statement was left out.'))
  }
}
