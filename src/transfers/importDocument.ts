import { rmdir, stat } from 'node:fs/promises'
import { dirname, isAbsolute, resolve } from 'node:path'
import type * as v from 'valibot'
import type { ServerConfig } from '../config/server.ts'
import { Problem } from '../contract/errors.ts'
import type { Repository } from '../contract/forges/repositories.ts'
import type { Imported, ImportFormat } from '../contract/projects/transfers.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import { requireRepositories } from '../files/projectRepositories.ts'
import { makeFolder, requireFolder } from '../files/projectFolders.ts'
import type { Transaction } from '../store/engine/database.ts'
import type { KnownAttachment } from './attachmentParts.ts'
import { check, type Checked, type Document } from './document.ts'
import { maxIntoExisting, stage, type ImportContext, type Target } from './import.ts'
import { importError } from './importErrors.ts'
import { parts } from './parts.ts'

export interface ImportOptions {
  format: ImportFormat
  projectId?: number
  organizationId?: number
  path?: string
  map?: string
  createFolder: boolean
  withPullRequests: boolean
  dryRun: boolean
}
export type Report = v.InferOutput<typeof Imported>
/** Runs the step that shows an import, and presents its result. */
export type Commit = <T>(work: (tx: Transaction) => Promise<T>, present: (result: T) => Report) => Promise<Report>

const maxWarnings = 50

type Counts = Pick<Report, 'projects' | 'boards' | 'columns' | 'cards' | 'attachments'>

export type Context = ImportContext & { config: ServerConfig }
type Board = NonNullable<(Target & { kind: 'existing' })['board']>
export interface Opened {
  document: Document
  board?: Board
  /** The report of the earlier part of the import. */
  before?: Report
}

/** Imports records, and closes their document. @throws Problem INVALID_IMPORT, PATH_NOT_FOUND, ... */
export async function importDocument(
  context: Context,
  caller: Caller,
  { document, board, before }: Opened,
  options: ImportOptions,
  commit: Commit,
): Promise<Report> {
  try {
    const checked = await check(document, context.config, context.signal)
    if (options.format === 'board') requireFew(context, checked, options)
    const makesFolder = options.createFolder && !options.dryRun && options.path !== undefined
    const isNewFolder = makesFolder && (await makeFolder(context.config, caller, options.path!))
    try {
      const target = await targetOf(context.config, caller, options, checked, board)
      const report: Report = {
        ...addReports(before, reportOf(checked, options, board)),
        dryRun: options.dryRun,
        projectIds: [],
        organizationId: null,
        warnings: few([...document.warnings, ...checked.known.warnings, ...leftOut(checked, options)]),
      }
      if (options.dryRun) return report
      return await write(context, caller, document, checked, target, report, commit)
    } catch (error) {
      if (isNewFolder) await rmdir(options.path!).catch(() => undefined)
      throw error
    }
  } finally {
    await document.close()
  }
}

async function write(
  context: Context,
  caller: Caller,
  document: Document,
  checked: Checked,
  target: Target,
  report: Report,
  commit: Commit,
): Promise<Report> {
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
}

export const emptyReport: Report = {
  dryRun: false,
  projectIds: [],
  organizationId: null,
  projects: 0,
  boards: 0,
  columns: 0,
  cards: 0,
  skipped: 0,
  attachments: 0,
  warnings: [],
}

const addReports = (before: Report = emptyReport, counts: Counts): Counts & Pick<Report, 'skipped'> => ({
  projects: before.projects + counts.projects,
  boards: before.boards + counts.boards,
  columns: before.columns + counts.columns,
  cards: before.cards + counts.cards,
  skipped: before.skipped,
  attachments: before.attachments + counts.attachments,
})

const few = (warnings: readonly string[]): string[] =>
  warnings.length <= maxWarnings
    ? [...warnings]
    : [...warnings.slice(0, maxWarnings), `And ${warnings.length - maxWarnings} more like these.`]

/** @throws Problem INVALID_IMPORT if a file has too many records for an existing project */
function requireFew({ db }: ImportContext, { counts }: Checked, { projectId }: ImportOptions): void {
  const total = parts.reduce((sum, { name, write }) => sum + (write ? counts[name]! : 0), 0)
  const maxRecords = maxIntoExisting(db)
  if (projectId !== undefined && total > maxRecords)
    throw importError(
      '',
      `the file has ${total} records, and at most ${maxRecords} fit into an existing project: omit projectId (-P on the command line) to create new projects`,
    )
}

async function targetOf(
  config: ServerConfig,
  caller: Caller,
  { projectId, organizationId, path, createFolder }: ImportOptions,
  { known }: Checked,
  board: Board | undefined,
): Promise<Target> {
  if (projectId !== undefined) return { kind: 'existing', projectId, board }
  const paths = new Map<number, string>()
  const repositories = new Map<number, readonly Repository[]>()
  const projects = known.all<KnownProject>('projects')
  for (const [id, project] of projects) {
    const named = projects.size === 1 && path !== undefined ? { ...project, path } : project
    const folder = await folderOf(config, caller, named, { path, createFolder })
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

/** A project's other repositories that exist here and that the caller can use. */
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

/** A project's own folder if the caller can use it, otherwise the folder that the caller names. */
async function folderOf(
  config: ServerConfig,
  caller: Caller,
  project: { name: string; path: string | null },
  { path, createFolder }: Pick<ImportOptions, 'path' | 'createFolder'>,
): Promise<string> {
  const own =
    project.path === null || project.path === path
      ? undefined
      : await requireFolder(config, caller, project.path).catch(() => undefined)
  if (own !== undefined) return own
  if (path === undefined)
    throw new Problem('PATH_NOT_FOUND', `The project "${project.name}" requires a folder. Specify path.`, {
      details: [
        {
          path: 'path',
          message: `must be a folder for the project "${project.name}": the folder in the file does not exist`,
        },
      ],
    })
  const isMissing = createFolder && !(await stat(path).catch(() => undefined))
  // Missing only in a dry run. In this case, its parent must exist.
  if (isMissing && isAbsolute(path)) await requireFolder(config, caller, dirname(resolve(path)))
  return isMissing ? resolve(path) : requireFolder(config, caller, path)
}

/** The number of new rows. */
function reportOf({ counts, known }: Checked, { projectId }: ImportOptions, board: Board | undefined): Counts {
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
    ? ["The conversation with a project's assistant was omitted, because the project already has an assistant."]
    : []),
  ...(counts.members! + counts.organizationMembers! > 0
    ? ['Members are not imported: invite the people who need access to the projects.']
    : []),
]
