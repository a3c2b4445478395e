import { chmodSync, statSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../../async/clock.ts'
import { Problem } from '../../contract/errors.ts'
import { createCommitSignals, type CommitSignals } from '../forges/commitSignals.ts'
import { openConnection, type Connection } from './connection.ts'
import { translateError, type EmbeddedDatabase, type EmbeddedOptions, type Reader } from './database.ts'
import { attemptJob, createJobQueue, settleJob, type Job, type Outcome } from './jobs.ts'

const maxJobsPerCommit = 128
const busyWaitMs = 200

/**
 * One libSQL file: a connection that only reads, and one that only writes, behind one queue. Once corruption is found,
 * every write is refused.
 */
export function openEmbedded({ path, clock, onDamage }: EmbeddedOptions): EmbeddedDatabase {
  const health = createHealth(onDamage)
  const signals = createCommitSignals()
  const writer = openWriter(path, clock, { health, signals })
  chmodSync(path, 0o600)
  const reader = openConnection(path)
  reader.exec('PRAGMA query_only = ON')
  const jobs = createJobQueue({ refusal: () => health.damage, commitBatch: writer.commitBatch, maxJobsPerCommit })
  const snapshots = new Set<Promise<unknown>>()
  let closing = false
  return {
    host: null,
    isShared: false,
    signals,
    version: writer.commits,
    get: (sql, args) => health.watch(reader.get(sql, args)),
    all: (sql, args) => health.watch(reader.all(sql, args)),
    markCorrupt: cause => {
      health.note(new Problem('DATABASE_DAMAGED', undefined, { cause }))
    },
    transaction: jobs.transaction,
    batch: statements =>
      jobs.transaction(async tx => {
        const results: Array<Array<Record<string, unknown>>> = []
        for (const { sql, args } of statements) results.push(await tx.all(sql, args))
        return results
      }),
    snapshot: async work => {
      const snapshot = readSnapshot(path, () => closing, work)
      snapshots.add(snapshot)
      return health.watch(snapshot.finally(() => snapshots.delete(snapshot)))
    },
    checkpoint: writer.checkpoint,
    close: async () => {
      closing = true
      await Promise.all([jobs.close(), Promise.allSettled(snapshots)])
      for (const each of [reader, writer]) each.close()
    },
  }
}

/** A read transaction on a separate connection, started by its first query. It ends early if the database closes. */
async function readSnapshot<T>(
  path: string,
  isClosing: () => boolean,
  work: (reader: Reader) => Promise<T>,
): Promise<T> {
  const unlessClosing = <R>(read: () => R): R => {
    if (isClosing()) throw new Problem('SHUTTING_DOWN')
    return read()
  }
  const connection = unlessClosing(() => openConnection(path))
  try {
    connection.exec('PRAGMA query_only = ON')
    connection.exec('BEGIN')
    await connection.get('SELECT 1 FROM sqlite_schema LIMIT 1')
    return await work({
      host: null,
      get: async (sql, args) => unlessClosing(() => connection.get(sql, args)),
      all: async (sql, args) => unlessClosing(() => connection.all(sql, args)),
    })
  } finally {
    connection.close()
  }
}

interface Health {
  /** The error of every refused write. */
  readonly damage: Problem | undefined
  note(problem: unknown): unknown
  /** Translates the error of a read. */
  watch<T>(read: Promise<T>): Promise<T>
}

function createHealth(onDamage: EmbeddedOptions['onDamage']): Health {
  let damage: Problem | undefined
  const note = (problem: unknown) => {
    if (!(problem instanceof Problem) || problem.code !== 'DATABASE_DAMAGED') return problem
    if (!damage) {
      damage = problem
      void onDamage?.(problem).then(better => {
        damage = better
      })
    }
    return damage
  }
  return {
    get damage() {
      return damage
    },
    note,
    watch: read =>
      read.catch((error: unknown) => {
        throw note(translateError(error))
      }),
  }
}

interface EmbeddedWriter {
  commitBatch(jobs: readonly Job[]): Promise<readonly Job[]>
  commits(): number
  checkpoint(): void
  close(): void
}

function openWriter(
  path: string,
  clock: Clock,
  { health, signals }: { health: Health; signals: CommitSignals },
): EmbeddedWriter {
  let connection: Connection | undefined = openConnection(path, !statSync(path, { throwIfNoEntry: false })?.size)
  let commits = 0
  return {
    commits: () => commits,
    commitBatch: async jobs => {
      const outcomes: Outcome[] = []
      try {
        connection ??= openConnection(path)
        await begin(connection, jobs[0]!.queuedAtMs + busyWaitMs)
        for (const job of jobs)
          outcomes.push(await attemptJob(connection, job, { now: clock().toISOString(), signals }))
        // A failed commit might have taken effect anyway.
        commits++
        connection.exec('COMMIT')
      } catch (error) {
        // A connection with a refused statement can acknowledge later writes without committing them.
        connection?.close()
        connection = undefined
        const reason = health.note(translateError(error))
        for (const job of jobs) job.reject(reason)
        return []
      }
      for (const outcome of outcomes) settleJob(outcome)
      return []
    },
    checkpoint: () => {
      try {
        connection?.exec('PRAGMA wal_checkpoint(PASSIVE)')
      } catch (error) {
        throw health.note(translateError(error))
      }
    },
    close: () => {
      // Folds the log into the file. A corrupt file is not touched.
      try {
        if (!health.damage) connection?.exec('PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE)')
      } catch {
        /* The file is corrupt, or the disk is full. */
      }
      connection?.close()
    },
  }
}

/**
 * Retries while another process holds the file. The deadline counts from when the job was queued, so that queued jobs do not wait
 * twice as long.
 */
async function begin(connection: Connection, giveUpAt: number): Promise<void> {
  for (;;) {
    try {
      return connection.exec('BEGIN IMMEDIATE')
    } catch (error) {
      if (!String((error as { code?: string }).code).startsWith('SQLITE_BUSY') || performance.now() > giveUpAt)
        throw error
      await delay(10)
    }
  }
}
