import { randomBytes } from 'node:crypto'
import { lstat, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import * as v from 'valibot'
import type { Clock } from '../async/clock.ts'
import { coalesce } from '../async/coalesce.ts'
import type { Log } from '../config/log.ts'
import { Problem } from '../contract/errors.ts'
import { openConnection } from '../store/engine/connection.ts'
import type { Database, EmbeddedDatabase, Reader } from '../store/engine/database.ts'
import { readLastSeq } from '../store/server/events.ts'
import { presentVersion } from '../store/engine/migrate.ts'
import { deleteServerSetting, readServerSetting, writeServerSetting } from '../store/server/serverSettings.ts'
import { readHeader } from './databaseHeader.ts'
import { databaseName } from './manifest.ts'

/**
 * The file that detects a database copied without its log. While a server uses the database, a row in it identifies the run, and this file
 * identifies the run and an event that the run has committed. Both are deleted when the server stops. A database file from before the run,
 * or from a backup, names another run or none.
 */
const databaseUseName = 'database-use.json'
const settingName = 'database-use'
const UseRecord = v.object({ run: v.string(), seq: v.number(), at: v.string() })
type UseRecord = v.InferOutput<typeof UseRecord>

const saveMs = 1000

/** Whether a database file needs a log, as its header states, and has none. */
export async function lacksLog(dataDir: string): Promise<boolean> {
  const path = join(dataDir, databaseName)
  const log = await lstat(`${path}-wal`).catch(() => undefined)
  if (log !== undefined && log.size > 0) return false
  return (await readHeader(path))?.hasLog === true
}

/**
 * Must be called before a database without its log is opened. Changes nothing, because the missing log fits only the unchanged file.
 * @throws Problem CONFLICT if the data folder records a later event of the run that used the database
 */
export async function requireLatestEvents(dataDir: string): Promise<void> {
  const record = await readRecord(dataDir)
  if (!record) return
  const connection = openConnection(join(dataDir, databaseName))
  try {
    if ((await presentVersion(connection)) === 0 || (await readRun(connection)) !== record.run) return
    if ((await readLastSeq(connection)) >= record.seq) return
  } finally {
    connection.close()
  }
  throw new Problem(
    'CONFLICT',
    `${databaseName} in ${dataDir} lacks changes that were saved until ${record.at}. It was copied without ${databaseName}-wal, or that file was deleted. Stop the server of the original, and copy both files together, or restore a backup: board backups restore --help. To start without those changes, delete ${databaseUseName} in ${dataDir}.`,
  )
}

/** Warns if a database without its log was copied from a running server and this folder has no record of the server's run. */
export async function warnOfCopy(db: Reader, dataDir: string, log: Log): Promise<void> {
  const run = await readRun(db)
  if (run === undefined || (await readRecord(dataDir))?.run === run) return
  log(
    'warn',
    `${databaseName} was copied from a server that had not stopped, without ${databaseName}-wal. The latest changes might be missing.`,
    { dataDir },
  )
}

/** Deletes the mark of the run in which a backup was created. */
export const clearUse = (db: Database): Promise<void> => db.transaction(tx => deleteServerSetting(tx, settingName))

/**
 * Marks the database as used by this run until it closes, and records the newest event at most once per second, after its commit.
 * @throws the file system's error if the record cannot be written at first
 */
export async function markUse(db: EmbeddedDatabase, dataDir: string, clock: Clock): Promise<Database> {
  const run = randomBytes(16).toString('hex')
  await db.transaction(tx => writeServerSetting(tx, settingName, run))
  // The mark counts once it is in the file itself.
  db.checkpoint()
  const save = async () => writeRecord(dataDir, { run, seq: await readLastSeq(db), at: clock().toISOString() })
  await save()
  const stopped = new AbortController()
  // An older record is still correct.
  const saveSoon = coalesce(async () => {
    await save().catch(() => {})
    await delay(saveMs, undefined, { ref: false, signal: stopped.signal }).catch(() => {})
  })
  let saved: Promise<void> | undefined
  const onEvents = () => {
    saved = saveSoon()
  }
  db.signals.on('events', onEvents)
  const close = async () => {
    db.signals.off('events', onEvents)
    stopped.abort()
    await saved
    const isCleared = await clearUse(db).then(
      () => true,
      () => false,
    )
    await db.close()
    if (isCleared) await rm(join(dataDir, databaseUseName), { force: true })
  }
  return { ...db, close }
}

const readRun = (db: Reader) => readServerSetting(db, settingName)

/** Undefined if there is no record. A power loss can lose the record, because it is not synced to disk. */
async function readRecord(dataDir: string): Promise<UseRecord | undefined> {
  try {
    return v.parse(UseRecord, JSON.parse(await readFile(join(dataDir, databaseUseName), 'utf8')))
  } catch {
    return undefined
  }
}

async function writeRecord(dataDir: string, record: UseRecord): Promise<void> {
  const path = join(dataDir, databaseUseName)
  await writeFile(`${path}.part`, `${JSON.stringify(record)}\n`, { mode: 0o600 })
  await rename(`${path}.part`, path)
}
