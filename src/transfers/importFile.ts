import { rm } from 'node:fs/promises'
import { basename } from 'node:path'
import type * as v from 'valibot'
import type { ServerConfig } from '../config/server.ts'
import { invalid, Problem } from '../contract/errors.ts'
import type { Repository } from '../contract/repositories.ts'
import type { Imported, ImportFormat } from '../contract/transfers.ts'
import { requireRole } from '../domain/access.ts'
import type { Caller } from '../domain/caller.ts'
import { requireRepositories } from '../domain/projectRepositories.ts'
import { requireFolder, requireOrganization } from '../domain/projects.ts'
import { readDefaultBoard } from '../store/boards.ts'
import { listColumns } from '../store/columns.ts'
import type { Reader, Transaction } from '../store/database.ts'
import type { KnownAttachment } from './attachmentParts.ts'
import { check, openDocument, type Checked, type Document } from './document.ts'
import { importError } from './importErrors.ts'
import type { Draft } from './formats/draft.ts'
import { draftDocument, readMap } from './formats/draftDocument.ts'
import { readGithub } from './formats/github.ts'
import { readMarkdownFile } from './formats/markdownThread.ts'
import { readTrello } from './formats/trello.ts'
import { maxIntoExisting, stage, type ImportContext, type Target } from './import.ts'
import { openJson, readObjects } from './jsonFile.ts'
import { parts } from './parts.ts'
import { toUtf8 } from './toUtf8.ts'

export interface ImportOptions {
  format: ImportFormat
  projectId?: number
  organizationId?: number
  path?: string
  map?: string
  withPullRequests: boolean
  dryRun: boolean
}
type Report = v.InferOutput<typeof Imported>
/** Runs the step that shows an import, and presents what it gives. */
type Commit = <T>(work: (tx: Transaction) => Promise<T>, present: (result: T) => Report) => Promise<Report>

const maxWarnings = 50

const mebibyte = 1024 * 1024
/** The maximum size of a file. The server reads the board's own format in pieces, holds the cards of others in memory, and parses Markdown whole. */
const maxBytesOf = { board: Infinity, trello: 64 * mebibyte, github: 64 * mebibyte, markdown: 8 * mebibyte }

export const maxBytes = (format: ImportFormat, { maxImportBytes }: Pick<ServerConfig, 'maxImportBytes'>): number =>
  Math.min(maxImportBytes, maxBytesOf[format])

/** Checks, before a file is taken, that the caller may import there. @throws Problem PROJECT_NOT_FOUND, FORBIDDEN, ORGANIZATION_NOT_FOUND, VALIDATION_FAILED */
export async function requireTarget(
  db: Reader,
  caller: Caller,
  { projectId, organizationId, path, map, format }: ImportOptions,
): Promise<void> {
  if (projectId !== undefined) {
    await requireRole(db, caller, projectId, 'member', () => new Problem('PROJECT_NOT_FOUND'))
    if (organizationId !== undefined)
      throw invalid('organizationId', 'is for new projects only: projectId names one that is there')
    if (path !== undefined) throw invalid('path', 'is for new projects only: projectId names one that is there')
  }
  await requireOrganization(db, caller, organizationId ?? null)
  readMap(map)
  if (map !== undefined && format === 'board') throw invalid('map', 'is for the formats trello, github and markdown')
}

/**
 * Imports a file whole, or nothing of it. With `dryRun` it goes the same way up to where rows are written.
 * @throws Problem INVALID_IMPORT, PATH_NOT_FOUND, PATH_NOT_ABSOLUTE, PATH_OUTSIDE_ROOTS, DISK_FULL, ...
 */
export async function importFile(
  context: ImportContext & { config: ServerConfig },
  caller: Caller,
  file: { path: string; filename: string },
  options: ImportOptions,
  commit: Commit,
): Promise<Report> {
  const converted = `${file.path}.utf8`
  try {
    const path = await toUtf8(file.path, converted, context.signal)
    return await importText(context, caller, { ...file, path }, options, commit)
  } finally {
    await rm(converted, { force: true })
  }
}

const importText: typeof importFile = async (context, caller, file, options, commit) => {
  const { document, board } = await open(context, file, options)
  try {
    const checked = await check(document, context.config, context.signal)
    requireFew(context, checked, options)
    const target = await targetOf(context.config, caller, options, checked, board)
    const report = {
      ...reportOf(checked, options, board),
      dryRun: options.dryRun,
      warnings: few([...document.warnings, ...checked.known.warnings, ...leftOut(checked, options)]),
    }
    if (options.dryRun) return { ...report, projectIds: [], organizationId: null }
    const staged = await stage(context, caller, document, checked, target)
    try {
      return await commit(staged.show, ({ projectIds, organizationId }) => ({
        ...report,
        projectIds: projectIds.map(String),
        organizationId: organizationId === null ? null : String(organizationId),
      }))
    } finally {
      await staged.undo()
    }
  } finally {
    await document.close()
  }
}

const few = (warnings: readonly string[]): string[] =>
  warnings.length <= maxWarnings
    ? [...warnings]
    : [...warnings.slice(0, maxWarnings), `And ${warnings.length - maxWarnings} more like these.`]

/** @throws Problem INVALID_IMPORT when a file has too much for a project that is there */
function requireFew({ db }: ImportContext, { counts }: Checked, { projectId }: ImportOptions): void {
  const total = parts.reduce((sum, { name, write }) => sum + (write ? counts[name]! : 0), 0)
  const maxRecords = maxIntoExisting(db)
  if (projectId !== undefined && total > maxRecords)
    throw importError(
      '',
      `the file has ${total} records, and at most ${maxRecords} go into a project that is there; without projectId they make projects of their own, as many as there are`,
    )
}

type Board = NonNullable<(Target & { kind: 'existing' })['board']>

async function open(
  context: ImportContext,
  { path, filename }: { path: string; filename: string },
  options: ImportOptions,
): Promise<{ document: Document; board?: Board }> {
  if (options.format === 'board') return { document: await openDocument(path) }
  const draft = await readDraft(options, path, context.signal)
  const present = options.projectId === undefined ? undefined : await readDefaultBoard(context.db, options.projectId)
  const name = (draft.name || basename(filename).replace(/\.\w{1,10}$/, '') || 'Imported').slice(0, 200).toWellFormed()
  const { document, columnIds } = draftDocument(draft, readMap(options.map), {
    name,
    path: options.path ?? null,
    columns: present && (await listColumns(context.db, present.id)),
    now: context.clock().toISOString(),
  })
  return { document, board: present && { id: present.id, columnIds } }
}

async function readDraft(
  { format, withPullRequests }: ImportOptions,
  path: string,
  signal: AbortSignal,
): Promise<Draft> {
  if (format === 'markdown') return readMarkdownFile(path, signal)
  if (format === 'github') return readGithub(readObjects(path), withPullRequests)
  const file = await openJson(path)
  try {
    return await readTrello(file)
  } finally {
    await file.close()
  }
}

async function targetOf(
  config: ServerConfig,
  caller: Caller,
  { projectId, organizationId, path }: ImportOptions,
  { known }: Checked,
  board: Board | undefined,
): Promise<Target> {
  if (projectId !== undefined) return { kind: 'existing', projectId, board }
  const paths = new Map<number, string>()
  const repositories = new Map<number, readonly Repository[]>()
  const projects = known.all<KnownProject>('projects')
  for (const [id, project] of projects) {
    const named = projects.size === 1 && path !== undefined ? { ...project, path } : project
    const folder = await folderOf(config, caller, named, path)
    paths.set(id, folder)
    repositories.set(id, await repositoriesHere(config, caller, folder, project.repositories))
  }
  return { kind: 'new', paths, repositories, organizationId: organizationId ?? null }
}

interface KnownProject {
  name: string
  path: string | null
  repositories: readonly Repository[]
}

/** A project's other repositories that are such here, and that the caller may use. */
async function repositoriesHere(
  config: ServerConfig,
  caller: Caller,
  folder: string,
  named: readonly Repository[],
): Promise<readonly Repository[]> {
  let here: readonly Repository[] = []
  for (const each of named)
    here = await requireRepositories(config, caller, folder, [...here, each]).catch((error: unknown) => {
      if (error instanceof Problem) return here
      throw error
    })
  return here
}

/** A project's own folder where that is one that the caller may use, else the one that the caller names. */
async function folderOf(
  config: ServerConfig,
  caller: Caller,
  project: { name: string; path: string | null },
  path: string | undefined,
): Promise<string> {
  const own =
    project.path === null || project.path === path
      ? undefined
      : await requireFolder(config, caller, project.path).catch(() => undefined)
  if (own !== undefined) return own
  if (path === undefined)
    throw new Problem('PATH_NOT_FOUND', `The project "${project.name}" needs a folder: give path.`, {
      details: [
        { path: 'path', message: `must name a folder for the project "${project.name}": the file's own is not here` },
      ],
    })
  return requireFolder(config, caller, path)
}

/** How many rows there will be. What is there already is not counted. */
function reportOf(
  { counts, known }: Checked,
  { projectId }: ImportOptions,
  board: Board | undefined,
): Pick<Report, 'projects' | 'boards' | 'columns' | 'cards' | 'attachments'> {
  const attachments = [...known.all<KnownAttachment>('attachments').values()].filter(
    ({ size, digest, card }) => (size === 0 || digest !== undefined) && !isLeftOut(known, card, projectId),
  ).length
  return {
    projects: projectId === undefined ? counts.projects! : 0,
    boards: board ? 0 : counts.boards!,
    columns: counts.columns! - (board?.columnIds.size ?? 0),
    cards: [...known.all('cards').keys()].filter(id => !isLeftOut(known, id, projectId)).length,
    attachments,
  }
}

/** A project has one assistant, and keeps its own. */
const isLeftOut = (known: Checked['known'], cardId: number, projectId: number | undefined) =>
  projectId !== undefined && known.all<{ kind: string }>('cards').get(cardId)?.kind === 'assistant'

const leftOut = ({ counts, known }: Checked, { projectId }: ImportOptions): string[] => [
  ...(projectId !== undefined &&
  [...known.all<{ kind: string }>('cards').values()].some(({ kind }) => kind === 'assistant')
    ? ["The conversation with a project's assistant was left out: the project has one of its own."]
    : []),
  ...(counts.members! + counts.organizationMembers! > 0
    ? ['Members are not imported: invite those who shall see the projects.']
    : []),
]
