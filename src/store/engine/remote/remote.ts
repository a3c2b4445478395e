import { createClient } from '@libsql/client'
import { createCommitSignals, type CommitSignals } from '../../forges/commitSignals.ts'
import { Problem } from '../../../contract/errors.ts'
import { translateError, type Database, type Reader, type RemoteOptions } from '../database.ts'
import type { Stream } from './hrana.ts'
import { toExact } from './hranaHttp.ts'
import { openHrana } from './openHrana.ts'
import { createJobQueue, settleJob, type Job } from '../jobs.ts'
import { runJob, type Attempt } from './remoteJob.ts'
import { bind, readerOf, recordsOf } from './remoteReader.ts'
import { openRemoteTransaction } from './remoteTransaction.ts'
import { openReadingStreams, type ReadingStreams } from '../readingStreams.ts'

const maxJobsPerCommit = 32
/**
 * Limits how long other daemons wait. With 32 writers on four daemons, the median response takes 265 ms. With commits of up to 200 ms, it
 * takes 330 ms.
 */
const maxCommitMs = 50
/** Timeouts of the server's answer, and of a write including its time in the queue. */
const answerTimeoutMs = 1400
const writeTimeoutMs = 2800
/** A commit is not started with less time left, because an abandoned commit costs as much as a successful one. */
const minCommitMs = answerTimeoutMs
/** Must exceed the server's transaction timeout, because an abandoned BEGIN still blocks the others once it is granted. */
const batchTimeoutMs = 5500
const snapshotTimeoutMs = 10 * 60_000

/**
 * A database on a libSQL server, which several daemons can share. An unanswered statement or a broken connection is
 * DATABASE_BUSY. Whether an unanswered commit took effect is unknown, as with any server.
 */
export function openRemote({ url, token, host, clock }: RemoteOptions): Database {
  const signals = createCommitSignals()
  const writing = createReconnecting(() => openWriteConnection(url, token))
  const reading = createReconnecting(() => openReadingStreams(url, token))
  const jobs = createJobQueue({
    refusal: () => undefined,
    commitBatch: work => commitBatch(writing, work, { host, clock, signals }),
    maxJobsPerCommit,
  })
  const snapshots = new Set<Promise<unknown>>()
  return {
    isShared: true,
    signals,
    version: createVersions(reading),
    ...readerOf(host, statement => reading.use(connection => connection.execute(statement))),
    markCorrupt: () => {
      /* The board must not mark the server's file. */
    },
    transaction: jobs.transaction,
    // Not the batch of @libsql/client, which does not retry while the server is busy, and opens a stream, and therefore the
    // database, for each batch (measured: 630 batches of three statements per second, against 1,240 on a persistent stream).
    batch: async statements => {
      let used: ReadingStreams | undefined
      try {
        const results = await reading.use(connection => {
          used = connection
          return connection.batch(statements.map(({ sql, args = [] }) => ({ sql, args: bind(args) })))
        }, batchTimeoutMs)
        return results.map(recordsOf)
      } catch (error) {
        used?.dropBatch()
        throw error
      }
    },
    snapshot: work => {
      const snapshot = readSnapshot({ url, token, host }, work)
      snapshots.add(snapshot)
      return snapshot.finally(() => snapshots.delete(snapshot))
    },
    close: async () => {
      await Promise.all([jobs.close(), Promise.allSettled(snapshots)])
      for (const connection of [reading, writing]) connection.close()
    },
  }
}

/** @returns `Database.version`: values of two connections cannot be compared, so each connection starts with a new number. */
function createVersions(reading: ReconnectingConnection<ReadingStreams>): () => Promise<number | undefined> {
  let version = 0
  let last: { connection: ReadingStreams; value: string } | undefined
  return () =>
    reading.use(async connection => {
      const value = await connection.dataVersion()
      if (value === undefined) return undefined
      if (last?.connection !== connection || last.value !== value) version++
      last = { connection, value }
      return version
    })
}

/** A connection to the server. A connection that times out is closed, and the next use opens another one. */
interface ReconnectingConnection<C> {
  /** @throws Problem DATABASE_BUSY after the timeout, or when the server is unreachable */
  use<T>(work: (connection: C) => Promise<T>, timeoutMs?: number): Promise<T>
  close(): void
}

function createReconnecting<C extends { readonly closed: boolean; close(): void }>(
  open: () => C,
): ReconnectingConnection<C> {
  let current: C | undefined
  let answeredAt = 0
  const giveUp = (connection: C) => {
    if (current === connection) current = undefined
    connection.close()
  }
  return {
    use: async (work, timeoutMs = answerTimeoutMs) => {
      const connection = (current = current && !current.closed ? current : open())
      const askedAt = performance.now()
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<never>((_, reject) => {
        // After a stall of this process, pending answers must be handled before the timeout.
        timer = setTimeout(
          () => setImmediate(reject, new Problem('DATABASE_BUSY', 'The database server does not respond. Try again.')),
          timeoutMs,
        )
      })
      try {
        const result = await Promise.race([work(connection), late])
        answeredAt = performance.now()
        return result
      } catch (error) {
        const problem = translateError(error)
        // If other requests were answered in the meantime, this statement is slow, not the connection.
        if (problem instanceof Problem && problem.code === 'DATABASE_BUSY' && answeredAt < askedAt) giveUp(connection)
        throw problem
      } finally {
        clearTimeout(timer)
      }
    },
    close: () => current?.close(),
  }
}

/** A connection for commits, which run one at a time. */
interface WriteConnection {
  /** The stream for the next commit; reused as long as commits succeed. */
  stream(): Stream
  dropStream(): void
  readonly closed: boolean
  close(): void
}

function openWriteConnection(url: string, token?: string): WriteConnection {
  const client = openHrana(url, token)
  let stream: Stream | undefined
  const dropStream = () => {
    stream?.close()
    stream = undefined
  }
  return {
    stream: () => (stream && !stream.closed ? stream : (stream = client.openStream())),
    dropStream,
    get closed() {
      return client.closed
    },
    close: () => client.close(),
  }
}

/** Runs queued jobs in one commit. A job that could not be answered in time is refused without being started. */
async function commitBatch(
  connection: ReconnectingConnection<WriteConnection>,
  waiting: readonly Job[],
  { host, clock, signals }: Pick<RemoteOptions, 'host' | 'clock'> & { signals: CommitSignals },
): Promise<readonly Job[]> {
  const jobs = waiting.filter(isInTime)
  if (jobs.length === 0) return []
  const leftMs = Math.min(...jobs.map(leftMsOf))
  const attempts: Attempt[] = []
  let tried = 0
  try {
    await connection.use(async writing => {
      const transaction = openRemoteTransaction(writing.stream())
      const now = clock().toISOString()
      try {
        while (tried < jobs.length && transaction.openForMs() < maxCommitMs && !transaction.isBroken())
          attempts.push(await runJob(transaction, jobs[tried++]!, { host, now, signals }))
        await transaction.commit()
      } catch (error) {
        writing.dropStream()
        throw error
      }
    }, leftMs)
  } catch (error) {
    for (const job of jobs.slice(0, tried)) job.reject(error)
    return jobs.slice(tried)
  }
  for (const {
    scope: { reason },
    ...done
  } of attempts)
    settleJob(reason ? { job: done.job, error: reason.error } : done)
  return jobs.slice(tried)
}

const leftMsOf = ({ queuedAtMs }: Job) => queuedAtMs + writeTimeoutMs - performance.now()

function isInTime(job: Job): boolean {
  if (leftMsOf(job) >= minCommitMs) return true
  job.reject(new Problem('DATABASE_BUSY', 'Too many writes are waiting for the database server. Try again.'))
  return false
}

/**
 * A read transaction of one snapshot. It uses @libsql/client, which opens a separate stream for it. Commits need persistent
 * streams, savepoints and conditional steps, which that client lacks.
 */
async function readSnapshot<T>(
  { url, token, host }: Pick<RemoteOptions, 'url' | 'token' | 'host'>,
  work: (reader: Reader) => Promise<T>,
): Promise<T> {
  const connection = createReconnecting(() =>
    createClient({ url, authToken: token, intMode: 'number', concurrency: 0 }),
  )
  try {
    return await connection.use(async client => {
      const transaction = await client.transaction('read')
      return work(
        readerOf(host, statement => transaction.execute({ sql: statement.sql, args: statement.args.map(toExact) })),
      )
    }, snapshotTimeoutMs)
  } finally {
    connection.close()
  }
}
