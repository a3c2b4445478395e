import { setImmediate as breathe } from 'node:timers/promises'
import * as v from 'valibot'
import type { Clock } from '../async/clock.ts'
import type { CardSource } from '../contract/cards/cardRecords.ts'
import { Problem } from '../contract/errors.ts'
import { requireRole } from '../domain/accounts/access.ts'
import type { AttachmentFiles } from '../files/attachmentFiles.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import * as organizations from '../domain/accounts/organizations.ts'
import { requireOrganization } from '../domain/projects/projects.ts'
import { appendEvent } from '../events/outbox.ts'
import { listBoards } from '../store/boards/boards.ts'
import { findKnownSources } from '../store/cards/cardSources.ts'
import { listColumns } from '../store/boards/columns.ts'
import type { Database, Transaction } from '../store/engine/database.ts'
import { abandonedProjects, deleteSomeOfHidden, raiseProjectTokens, revealProject } from '../store/projects/imports.ts'
import { deleteProject, readProject } from '../store/projects/projects.ts'
import { ownerFor } from '../store/accounts/users.ts'
import { board as boardView } from '../views/boards.ts'
import { projectEvent } from '../views/projects.ts'
import type { Checked, Document } from './document.ts'
import type { Made, Part } from './part.ts'
import { parts } from './parts.ts'
import { saveContents } from './saveContents.ts'

/** The dependencies of an import. An aborted import leaves nothing behind. */
export interface ImportContext {
  db: Database
  daemonId: string
  attachmentFiles: AttachmentFiles
  clock: Clock
  signal: AbortSignal
}

/**
 * The target of an import. New projects have folders by the file's IDs. An existing project receives whole boards, or with
 * `board` cards and columns: `columnIds` maps the file's IDs to the rows of that board's columns, as last read.
 */
export type Target =
  | ({ kind: 'new'; organizationId: number | null } & Pick<Made, 'paths' | 'repositories'>)
  | { kind: 'existing'; projectId: number; board?: TargetBoard }

interface TargetBoard {
  id: number
  columnIds: ReadonlyMap<number, number>
  /** The sources of the cards. The project must not have cards of these sources. */
  sources: readonly CardSource[]
}

/** An import whose rows are hidden, or not written yet. */
export interface Staged {
  /** Shows the whole import in this transaction, and returns its projects and the organization that was created for them. */
  show(tx: Transaction): Promise<{ projectIds: number[]; organizationId: number | null }>
  /** Undoes an import that is not shown, without leftovers. Does nothing once it is shown. */
  undo(): Promise<void>
}

/** The maximum duration of one of many transactions. Others write between them. */
const stepMs = 15
const recordsAtOnce = 500
/**
 * The maximum number of records for an existing project. They are written in one transaction, which blocks other writers, and
 * which a libSQL server soon ends.
 */
export const maxIntoExisting = ({ isShared }: Pick<Database, 'isShared'>): number => (isShared ? 300 : 5000)
/** The time without a heartbeat after which a daemon's imports are abandoned. */
const abandonedMs = 60_000

type Step = (work: (tx: Transaction) => Promise<void>) => Promise<void>

/**
 * Writes a checked document without showing it. New projects are written hidden, in many short transactions. Records for an
 * existing project are only read, to be written in one transaction later. Starts no agents, scripts or monitors.
 * @throws Problem DISK_FULL, ..., or the signal's reason; nothing is left behind in this case
 */
export async function stage(
  context: ImportContext,
  caller: Caller,
  document: Document,
  { known }: Checked,
  target: Target,
): Promise<Staged> {
  const made = await begin(context, caller, document, target)
  let isShown = false
  const undo = async () => {
    if (isShown) return
    await Promise.all([...made.files.values()].map(({ storedAs }) => context.attachmentFiles.remove(storedAs)))
    for (const id of made.hidden) await removeHidden(context.db, id)
  }
  try {
    const loaded = target.kind === 'existing' ? await load(document) : undefined
    await saveContents(context.attachmentFiles.folder, document, known, made.files)
    if (!loaded) await writeParts(document, made, oneByOne(context), ({ isShownAtOnce }) => !isShownAtOnce)
    return {
      undo,
      show: async tx => {
        if (target.kind === 'existing') await intoProject(tx, caller, target, known, made)
        await writeParts(
          loaded ?? document,
          made,
          inOne(tx),
          ({ isShownAtOnce }) => loaded !== undefined || isShownAtOnce === true,
        )
        const organizationId =
          target.kind === 'new' ? await showProjects(tx, caller, document, target.organizationId, made) : null
        await inSteps(made.announcements, (tell, tx) => tell(tx), inOne(tx))
        tx.afterCommit(() => {
          isShown = true
        })
        return { projectIds: [...new Set([...made.rows.projects.values()].map(({ id }) => id))], organizationId }
      },
    }
  } catch (error) {
    await undo()
    throw error
  }
}

/** One transaction per step. Waiting writers and requests run between them. */
const oneByOne =
  ({ db, signal }: ImportContext): Step =>
  async work => {
    signal.throwIfAborted()
    await db.transaction(work)
    await breathe()
  }

/** In one long transaction, the event loop runs between steps, and only other writers wait. */
const inOne =
  (tx: Transaction): Step =>
  async work => {
    await work(tx)
    await breathe()
  }

const begin = async (
  { db, daemonId, clock }: ImportContext,
  caller: Caller,
  { exportedAt }: Document,
  target: Target,
): Promise<Made> => ({
  ownerId: await db.transaction(tx => ownerFor(tx, caller.userId)),
  importer: daemonId,
  paths: target.kind === 'new' ? target.paths : new Map(),
  repositories: target.kind === 'new' ? target.repositories : new Map(),
  intoExisting: target.kind === 'existing',
  exportedAt: exportedAt ?? clock().toISOString(),
  rows: {
    projects: new Map(),
    boards: new Map(),
    columns: new Map(),
    cards: new Map(),
    attachments: new Map(),
    sessions: new Map(),
  },
  hidden: [],
  order: new Map(),
  afterRequests: new Map(),
  files: new Map(),
  templates: undefined,
  announcements: [],
})

/** Reads a document that is small enough to be written in one transaction. */
async function load(document: Document): Promise<Pick<Document, 'records'>> {
  const records = new Map<string, Array<{ place: string; value: unknown }>>()
  for (const { name } of parts.filter(({ write }) => write)) {
    const list = []
    for await (const record of document.records(name)) list.push(record)
    records.set(name, list)
  }
  return {
    records: async function* (name) {
      yield* records.get(name) ?? []
    },
  }
}

async function writeParts(
  document: Pick<Document, 'records'>,
  made: Made,
  step: Step,
  isWanted: (part: Part) => boolean,
): Promise<void> {
  for (const part of parts.filter(part => part.write && isWanted(part))) {
    let waiting: unknown[] = []
    for await (const { value } of document.records(part.name)) {
      waiting.push(v.parse(part.schema, value))
      if (waiting.length < recordsAtOnce) continue
      await inSteps(waiting, (record, tx) => part.write!(tx, record, made), step)
      waiting = []
    }
    await inSteps(waiting, (record, tx) => part.write!(tx, record, made), step)
    for (const work of part.finish?.(made) ?? []) await step(work)
  }
}

/** Processes as many items per step as fit into its time limit. */
async function inSteps<T>(
  things: readonly T[],
  work: (thing: T, tx: Transaction) => Promise<void>,
  step: Step,
): Promise<void> {
  for (let next = 0; next < things.length;) {
    await step(async tx => {
      const endMs = performance.now() + stepMs
      do await work(things[next++]!, tx)
      while (next < things.length && performance.now() < endMs)
    })
  }
}

/** Connects the references in a file to records of a project. @throws Problem PROJECT_NOT_FOUND, FORBIDDEN, CONFLICT */
async function intoProject(
  tx: Transaction,
  caller: Caller,
  { projectId, board }: Target & { kind: 'existing' },
  known: Checked['known'],
  { rows }: Made,
): Promise<void> {
  await requireRole(tx, caller, projectId, 'member', () => new Problem('PROJECT_NOT_FOUND'))
  let firstBoard = (await listBoards(tx, projectId)).length
  for (const id of known.all('projects').keys()) {
    rows.projects.set(id, { id: projectId, firstBoard })
    firstBoard += [...known.all<number>('boards').values()].filter(owner => owner === id).length
  }
  if (!board) return
  const columns = await listColumns(tx, board.id)
  if (columns.map(({ id }) => id).join() !== [...board.columnIds.values()].join())
    throw new Problem('CONFLICT', 'The columns of the board changed in the meantime. Try again.')
  if ((await findKnownSources(tx, projectId, board.sources)).size > 0)
    throw new Problem('CONFLICT', 'Another import added some of these cards. Try again.')
  for (const id of known.all('boards').keys()) rows.boards.set(id, { id: board.id, projectId })
  const typeOf = new Map(columns.map(({ id, columnType }) => [id, columnType]))
  for (const [id, columnId] of board.columnIds)
    rows.columns.set(id, { id: columnId, boardId: board.id, projectId, columnType: typeOf.get(columnId)! })
}

/** @throws Problem ORGANIZATION_NOT_FOUND */
async function showProjects(
  tx: Transaction,
  caller: Caller,
  document: Document,
  wanted: number | null,
  made: Made,
): Promise<number | null> {
  await requireOrganization(tx, caller, wanted)
  const ownOrganization =
    wanted === null && document.organization
      ? (await organizations.create(tx, caller, document.organization.name)).id
      : null
  for await (const { value } of document.records('projects')) {
    const { id: idInFile, tokens } = value as { id: number; tokens?: { total: number; sessions: number } }
    const { id } = made.rows.projects.get(idInFile)!
    if (tokens && tokens.sessions > 0) await raiseProjectTokens(tx, id, tokens)
    await revealProject(tx, id, wanted ?? ownOrganization)
    await appendEvent(tx, 'project.created', id, projectEvent((await readProject(tx, id))!))
    for (const board of await listBoards(tx, id)) await appendEvent(tx, 'board.created', id, boardView(board))
  }
  return ownOrganization
}

/**
 * Deletes the projects of imports that a crash interrupted. An import of a daemon that was only paused no longer finds its rows,
 * and fails.
 */
export async function removeUnfinished(db: Database, daemonId: string): Promise<void> {
  for (const id of await abandonedProjects(db, daemonId, abandonedMs)) await removeHidden(db, id)
}

async function removeHidden(db: Database, id: number): Promise<void> {
  while ((await db.transaction(tx => deleteSomeOfHidden(tx, id))) > 0) await breathe()
  await db.transaction(tx => deleteProject(tx, id))
}
