import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { lstat, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { syncFolder } from '../config/folders.ts'
import { Problem } from '../contract/errors.ts'
import { exists } from './folder.ts'
import { attachmentsName, databaseName, keyName } from './manifest.ts'

/**
 * Replaces the state of a data folder in one step. The new state is prepared in a folder `restoring-…`. The step is the creation
 * of the journal, a file that appears atomically. From then on, the new state is moved into place, if necessary by the next
 * process that opens the data folder. Without the journal, the folder is a leftover. The old state is moved to `replaced-…`, which
 * is then a leftover, or to `damaged-…`, which stays.
 */
const journalName = 'restore.json'
const Journal = v.strictObject({
  from: v.pipe(v.string(), v.regex(/^restoring-[0-9a-f]{16}$/)),
  to: v.pipe(v.string(), v.regex(/^(replaced|damaged)-[\w.-]{1,60}$/)),
  withKey: v.boolean(),
})

/** A prepared new state: the name of its folder, and whether it includes a sealing key. */
export interface Prepared {
  folder: string
  withKey: boolean
}

/** Creates the folder for a new state, and returns its name. */
export async function beginState(dataDir: string): Promise<string> {
  const name = `restoring-${randomBytes(8).toString('hex')}`
  await mkdir(join(dataDir, name), { mode: 0o700 })
  return name
}

/**
 * Performs the step: from now on, the new state is the current one, even after a crash. The database must not be open.
 * @param keptAs a name `damaged-…` if the old state must stay
 * @throws Problem CONFLICT if the attachments cannot be moved; in this case, nothing has changed
 */
export async function commitState(dataDir: string, { folder, withKey }: Prepared, keptAs?: string): Promise<void> {
  await requireMovable(dataDir)
  for (const each of [join(dataDir, folder, attachmentsName), join(dataDir, folder), dataDir]) await syncFolder(each)
  const journal: v.InferOutput<typeof Journal> = {
    from: folder,
    to: keptAs ?? folder.replace('restoring', 'replaced'),
    withKey,
  }
  const path = join(dataDir, journalName)
  const file = await open(`${path}.new`, 'w', 0o600)
  try {
    await file.writeFile(JSON.stringify(journal))
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
  await syncFolder(dataDir)
}

/**
 * Finishes an interrupted replacement, if there is one. Call this before the database is opened.
 * @throws Problem CONFLICT if the journal is invalid
 */
export async function finishState(dataDir: string): Promise<void> {
  const text = await readFile(join(dataDir, journalName), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text !== undefined) await move(dataDir, readJournal(text))
}

function readJournal(text: string): v.InferOutput<typeof Journal> {
  try {
    return v.parse(Journal, JSON.parse(text))
  } catch (cause) {
    throw new Problem(
      'CONFLICT',
      `${journalName} in the data folder is damaged, so the server cannot determine which restored state to apply. Nothing was changed.`,
      { cause },
    )
  }
}

/** Removes the current leftovers. Call this when no new state is being prepared. */
export async function removeRubbish(dataDir: string): Promise<void> {
  const names = readdirSync(dataDir).filter(
    name => /^(restoring|replaced)-/.test(name) || name === `${journalName}.new`,
  )
  for (const name of names) await rm(join(dataDir, name), { recursive: true, force: true })
}

/** Every move can be repeated: a file that is still in the new folder has not been moved, so the file in its place is old. */
async function move(dataDir: string, { from, to, withKey }: v.InferOutput<typeof Journal>): Promise<void> {
  await mkdir(join(dataDir, to), { mode: 0o700, recursive: true })
  for (const name of [databaseName, attachmentsName, ...(withKey ? [keyName] : [])]) {
    if (!(await exists(join(dataDir, from, name)))) continue
    for (const old of name === databaseName ? [name, `${name}-wal`, `${name}-shm`] : [name])
      if (await exists(join(dataDir, old))) await rename(join(dataDir, old), join(dataDir, to, old))
    await rename(join(dataDir, from, name), join(dataDir, name))
  }
  for (const each of [join(dataDir, to), dataDir]) await syncFolder(each)
  await rm(join(dataDir, journalName))
  await syncFolder(dataDir)
}

/** A folder on another disk, or a link to one, cannot be replaced by a rename. */
async function requireMovable(dataDir: string): Promise<void> {
  const [folder, attachments] = [
    await lstat(dataDir),
    await lstat(join(dataDir, attachmentsName)).catch(() => undefined),
  ]
  if (attachments && (!attachments.isDirectory() || attachments.dev !== folder.dev))
    throw new Problem(
      'CONFLICT',
      'The folder of the attachments is a link or a separate disk, so a backup cannot replace it.',
    )
}
