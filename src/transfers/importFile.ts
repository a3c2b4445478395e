import { rm } from 'node:fs/promises'
import { basename } from 'node:path'
import type { ServerConfig } from '../config/server.ts'
import { invalid, Problem } from '../contract/errors.ts'
import type { ImportFormat } from '../contract/projects/transfers.ts'
import { requireRole } from '../domain/accounts/access.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import { requireOrganization } from '../domain/projects/projects.ts'
import { readDefaultBoard } from '../store/boards/boards.ts'
import { findKnownSources } from '../store/cards/cardSources.ts'
import { listColumns } from '../store/boards/columns.ts'
import type { Reader } from '../store/engine/database.ts'
import { openDocument } from './document.ts'
import type { Draft, DraftCard } from './formats/draft.ts'
import { draftDocument, readMap } from './formats/draftDocument.ts'
import { readGithub } from './formats/github.ts'
import { readMarkdownFile } from './formats/markdownThread.ts'
import { readTrello } from './formats/trello.ts'
import { maxIntoExisting } from './import.ts'
import {
  emptyReport,
  importDocument,
  type Commit,
  type Context,
  type ImportOptions,
  type Opened,
  type Report,
} from './importDocument.ts'
import { openJson, readObjects } from './jsonFile.ts'
import { toUtf8 } from './toUtf8.ts'

const sourcesAtOnce = 5000
const mebibyte = 1024 * 1024
/**
 * The maximum size of a file. The server streams the board's own format, keeps cards of other formats in memory, and parses
 * Markdown as a whole.
 */
const maxBytesOf = { board: Infinity, trello: 64 * mebibyte, github: 64 * mebibyte, markdown: 8 * mebibyte }

export const maxBytes = (format: ImportFormat, { maxImportBytes }: Pick<ServerConfig, 'maxImportBytes'>): number =>
  Math.min(maxImportBytes, maxBytesOf[format])

/**
 * Checks, before a file is received, that the caller can import to the target.
 * @throws Problem PROJECT_NOT_FOUND, FORBIDDEN, ORGANIZATION_NOT_FOUND, VALIDATION_FAILED
 */
export async function requireTarget(
  db: Reader,
  caller: Caller,
  { projectId, organizationId, path, map, format }: ImportOptions,
): Promise<void> {
  if (projectId !== undefined) {
    await requireRole(db, caller, projectId, 'member', () => new Problem('PROJECT_NOT_FOUND'))
    if (organizationId !== undefined)
      throw invalid('organizationId', 'cannot be combined with projectId, because it applies only to new projects')
    if (path !== undefined)
      throw invalid('path', 'cannot be combined with projectId, because it applies only to new projects')
  }
  await requireOrganization(db, caller, organizationId ?? null)
  readMap(map)
  if (map !== undefined && format === 'board')
    throw invalid('map', 'applies only to the formats trello, github and markdown')
}

/**
 * Imports a file. Cards of other programs are added to an existing project in batches: after a failure, the earlier batches stay,
 * and another import adds the rest. Everything else is imported completely or not at all. A `dryRun` runs the same steps up to
 * the writes.
 * @throws Problem INVALID_IMPORT, PATH_NOT_FOUND, PATH_NOT_ABSOLUTE, PATH_OUTSIDE_ROOTS, DISK_FULL, ...
 */
export async function importFile(
  context: Context,
  caller: Caller,
  file: { path: string; filename: string },
  options: ImportOptions,
  commit: Commit,
): Promise<Report> {
  const converted = `${file.path}.utf8`
  try {
    const text = { ...file, path: await toUtf8(file.path, converted, context.signal) }
    if (options.format !== 'board') return await importDraft(context, caller, text, options, commit)
    return await importDocument(context, caller, { document: await openDocument(text.path) }, options, commit)
  } finally {
    await rm(converted, { force: true })
  }
}

async function importDraft(
  context: Context,
  caller: Caller,
  file: { path: string; filename: string },
  options: ImportOptions,
  commit: Commit,
): Promise<Report> {
  const whole = await readDraft(options, file, context.signal)
  const cards = await withoutKnown(context.db, options.projectId, whole.cards)
  const name = (whole.name || basename(file.filename).replace(/\.\w{1,10}$/, '') || 'Imported')
    .slice(0, 200)
    .toWellFormed()
  const isOneStep = options.projectId === undefined || options.dryRun
  const batches = isOneStep ? [cards] : batchesOf(cards, maxIntoExisting(context.db))
  let report: Report = { ...emptyReport, skipped: whole.cards.length - cards.length }
  for (const [index, batch] of batches.entries()) {
    const draft = { ...whole, cards: batch }
    const opened = { ...(await openDraft(context, draft, name, options)), before: report }
    const commitBatch: Commit = async (work, present) => present(await context.db.transaction(work))
    const isLast = index === batches.length - 1
    report = await importDocument(context, caller, opened, options, isLast ? commit : commitBatch).catch(
      (error: unknown) => {
        throw error instanceof Problem && report.cards > 0 ? addedBefore(error, report.cards) : error
      },
    )
  }
  return report
}

const addedBefore = ({ code, message, details, retryAfterSecs }: Problem, count: number): Problem =>
  new Problem(code, `${message} Before that, ${count} cards were added. To add the rest, import the file again.`, {
    details,
    retryAfterSecs,
  })

/** The cards that are neither in the project nor in an earlier entry of the file. */
async function withoutKnown(
  db: Reader,
  projectId: number | undefined,
  cards: readonly DraftCard[],
): Promise<readonly DraftCard[]> {
  const known = new Set<string>()
  const sources = cards.flatMap(({ source }) => source ?? [])
  for (let from = 0; projectId !== undefined && from < sources.length; from += sourcesAtOnce)
    for (const id of await findKnownSources(db, projectId, sources.slice(from, from + sourcesAtOnce))) known.add(id)
  return cards.filter(({ source }) => {
    const isNew = !source || !known.has(source.id)
    if (source) known.add(source.id)
    return isNew
  })
}

/** Batches of whole cards with their comments. At least one, also if it is empty. */
function batchesOf(cards: readonly DraftCard[], maxRecords: number): DraftCard[][] {
  const batches: DraftCard[][] = [[]]
  let records = 0
  for (const card of cards) {
    const more = 1 + card.comments.length
    if (records > 0 && records + more > maxRecords) {
      batches.push([])
      records = 0
    }
    batches.at(-1)!.push(card)
    records += more
  }
  return batches
}

/**
 * The records of a draft for a new project, or for the first board of an existing one: then only the columns that its cards need.
 */
async function openDraft(
  { db, clock }: Context,
  draft: Draft,
  name: string,
  { projectId, map, path }: ImportOptions,
): Promise<Opened> {
  const present = projectId === undefined ? undefined : await readDefaultBoard(db, projectId)
  const used = new Set(draft.cards.map(({ column }) => column))
  const columns = present ? draft.columns.filter(column => used.has(column)) : draft.columns
  const { document, columnIds } = draftDocument({ ...draft, columns }, readMap(map), {
    name,
    path: path ?? null,
    columns: present && (await listColumns(db, present.id)),
    now: clock().toISOString(),
  })
  const sources = draft.cards.flatMap(({ source }) => source ?? [])
  return { document, board: present && { id: present.id, columnIds, sources } }
}

async function readDraft(
  { format, withPullRequests }: ImportOptions,
  { path, filename }: { path: string; filename: string },
  signal: AbortSignal,
): Promise<Draft> {
  if (format === 'markdown') return readMarkdownFile({ path, filename: basename(filename) }, signal)
  if (format === 'github') return readGithub(readObjects(path), withPullRequests)
  const file = await openJson(path)
  try {
    return await readTrello(file)
  } finally {
    await file.close()
  }
}
