import { createClient } from '@libsql/client'
import type { Stream } from '@libsql/hrana-client'
import { Problem } from '../contract/errors.ts'
import { translate, type Database, type Reader, type RemoteOptions, type Transaction, type Value } from './database.ts'
import { openHrana, openStream, type Rows, type Statement } from './hrana.ts'
import { createJobQueue, settle, type Job } from './jobs.ts'
import { openPipeline, runTogether, type Scope } from './pipeline.ts'
import { openReadingStreams } from './readingStreams.ts'

const mostJobsACommit = 32
/** Other daemons wait for the end of a commit (32 writers on four of them: 265 ms in the middle for an answer, and 330 ms with commits of up to 200 ms). */
const mostCommitMs = 50
/** How long the server has for an answer; and how long anybody waits for a write, in the queue and at the server. */
const answerMs = 1400
const mostWriteMs = 2800
/** What is left of that when a commit begins must be enough for one, with others' before it: one that is given up has cost as much, for nothing. */
const leastCommitMs = answerMs
/** Whoever no longer waits for a transaction to begin keeps the others waiting when it does, so this is longer than the server lets one stand still. */
const besideMs = 5500
const readingMs = 10 * 60_000

/**
 * A database on a libSQL server, which several daemons may share. A statement that is not answered in time, or a connection that
 * breaks, is DATABASE_BUSY: whether a commit that was not answered has happened is not known then, as with every server.
 */
export function openRemote({ url, token, host, clock }: RemoteOptions): Database {
  const writing = createLine(() => openWriting(url, token))
  const beside = createLine(() => openWriting(url, token))
  const reading = createLine(() => openReadingStreams(url, token))
  const jobs = createJobQueue({
    refusal: () => undefined,
    commitTogether: work => commitTogether(writing, work, { host, clock }),
    mostJobsACommit,
  })
  const snapshots = new Set<Promise<unknown>>()
  return {
    isShared: true,
    commits: () => undefined,
    ...readerOf(host, statement => reading.use(line => line.execute(statement))),
    noteDamage: () => {
      /* The server's file is the server's. */
    },
    transaction: jobs.transaction,
    together: statements =>
      beside.use(async line => {
        const stream = await line.stream()
        const results = await runTogether(
          stream,
          statements.map(({ sql, args = [] }) => ({ sql, args: bind(args) })),
        ).catch((error: unknown) => {
          line.dropStream()
          throw error
        })
        return results.map(recordsOf)
      }, besideMs),
    snapshot: work => {
      const snapshot = readSnapshot({ url, token, host }, work)
      snapshots.add(snapshot)
      return snapshot.finally(() => snapshots.delete(snapshot))
    },
    close: async () => {
      await Promise.all([jobs.close(), Promise.allSettled(snapshots)])
      for (const line of [reading, writing, beside]) line.close()
    },
  }
}

/** A connection to the server. One that answers nothing is given up, and what comes next gets another. */
interface Line<C> {
  /** @throws Problem DATABASE_BUSY when it takes longer than the time, or the server is out of reach */
  use<T>(work: (connection: C) => Promise<T>, mostMs?: number): Promise<T>
  close(): void
}

function createLine<C extends { readonly closed: boolean; close(): void }>(open: () => C): Line<C> {
  let current: C | undefined
  let answeredAt = 0
  const giveUp = (connection: C) => {
    if (current === connection) current = undefined
    connection.close()
  }
  return {
    use: async (work, mostMs = answerMs) => {
      const connection = (current = current && !current.closed ? current : open())
      const askedAt = performance.now()
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<never>((_, reject) => {
        // A process that stood still itself hears first what has been answered meanwhile.
        timer = setTimeout(
          () => setImmediate(reject, new Problem('DATABASE_BUSY', 'The database server does not answer; try again.')),
          mostMs,
        )
      })
      try {
        const result = await Promise.race([work(connection), late])
        answeredAt = performance.now()
        return result
      } catch (error) {
        const problem = translate(error)
        // Where others were answered meanwhile, this one is slow, and not the connection.
        if (problem instanceof Problem && problem.code === 'DATABASE_BUSY' && answeredAt < askedAt) giveUp(connection)
        throw problem
      } finally {
        clearTimeout(timer)
      }
    },
    close: () => current?.close(),
  }
}

/** A connection for commits, one after the other. */
interface Writing {
  /** The stream for the next commit. One stays open as long as its commits succeed. */
  stream(): Promise<Stream>
  dropStream(): void
  readonly closed: boolean
  close(): void
}

function openWriting(url: string, token?: string): Writing {
  const client = openHrana(url, token)
  let stream: Stream | undefined
  const dropStream = () => {
    stream?.close()
    stream = undefined
  }
  return {
    stream: async () => (stream && !stream.closed ? stream : (stream = await openStream(client))),
    dropStream,
    get closed() {
      return client.closed
    },
    close: () => client.close(),
  }
}

/** Does jobs that wait in one commit. One that nobody could tell the end of in time any more is refused without being begun. */
async function commitTogether(
  line: Line<Writing>,
  waiting: readonly Job[],
  { host, clock }: Pick<RemoteOptions, 'host' | 'clock'>,
): Promise<readonly Job[]> {
  const jobs = waiting.filter(inTime)
  if (jobs.length === 0) return []
  const leftMs = Math.min(...jobs.map(leftMsOf))
  const attempts: Attempt[] = []
  let tried = 1
  try {
    await line.use(async writing => {
      const pipeline = openPipeline(await writing.stream())
      const now = clock().toISOString()
      try {
        for (tried = 0; tried < jobs.length && pipeline.openForMs() < mostCommitMs && !pipeline.isBroken();)
          attempts.push(await attempt(pipeline.scope(), jobs[tried++]!, { host, now }))
        await pipeline.commit()
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
    settle(reason ? { job: done.job, error: reason.error } : done)
  return jobs.slice(tried)
}

const leftMsOf = ({ queuedAtMs }: Job) => queuedAtMs + mostWriteMs - performance.now()

function inTime(job: Job): boolean {
  if (leftMsOf(job) >= leastCommitMs) return true
  job.reject(new Problem('DATABASE_BUSY', 'Too many writes wait for the database server; try again.'))
  return false
}

interface Attempt {
  job: Job
  scope: Scope
  result: unknown
  effects: Array<() => void>
}

/** Does one job of a commit. Whether it can be kept is known when the transaction has ended. */
async function attempt(scope: Scope, job: Job, { host, now }: { host: string; now: string }): Promise<Attempt> {
  const effects: Array<() => void> = []
  let result: unknown
  try {
    result = await job.work({ ...writerOf(host, scope), now, afterCommit: effect => effects.push(effect) })
    scope.keep()
  } catch (error) {
    scope.undo(translate(error))
  }
  return { job, scope, result, effects }
}

/** A transaction that sees one state of the database, whatever others write meanwhile. */
async function readSnapshot<T>(
  { url, token, host }: Pick<RemoteOptions, 'url' | 'token' | 'host'>,
  work: (reader: Reader) => Promise<T>,
): Promise<T> {
  const line = createLine(() => createClient({ url, authToken: token, intMode: 'number', concurrency: 0 }))
  try {
    return await line.use(async client => {
      const transaction = await client.transaction('read')
      return work(readerOf(host, statement => transaction.execute(statement)))
    }, readingMs)
  } finally {
    line.close()
  }
}

const writerOf = (host: string, scope: Scope): Omit<Transaction, 'now' | 'afterCommit'> => ({
  ...readerOf(host, scope.run),
  run: async (sql, args = []) => scope.run({ sql, args: bind(args) }),
  send: (sql, args = []) => scope.send({ sql, args: bind(args) }),
})

function readerOf(host: string, execute: (statement: Statement) => Promise<Pick<Rows, 'columns' | 'rows'>>): Reader {
  const all = async <T>(sql: string, args: readonly Value[] = []): Promise<T[]> => {
    return recordsOf(await execute({ sql, args: bind(args) }).catch(fail)) as T[]
  }
  return { host, all, get: async <T>(sql: string, args?: readonly Value[]) => (await all<T>(sql, args))[0] }
}

const recordsOf = ({ columns, rows }: Pick<Rows, 'columns' | 'rows'>): Array<Record<string, unknown>> =>
  rows.map(row => Object.fromEntries(columns.map((column, index) => [column, row[index]])))

const fail = (error: unknown): never => {
  throw translate(error)
}

/** A number that is whole travels as an integer: what is made of it, in JSON say, must not become 1.0. */
const bind = (args: readonly Value[]): Statement['args'] =>
  args.map(arg => {
    if (arg === undefined) return null
    if (typeof arg === 'number' && !Number.isFinite(arg))
      throw new TypeError('A parameter must be text, a finite number, a boolean or null.')
    if (typeof arg === 'number' && Number.isSafeInteger(arg)) return BigInt(arg)
    return typeof arg === 'boolean' ? BigInt(arg) : arg
  })
