import { Argument, InvalidArgumentError, type Command } from 'commander'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, resolve as absolute } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { ApiFailure } from '../../src/client/index.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { ImportFormat } from '../../src/contract/projects/transfers.ts'
import { openUserContext, type Context } from '../context/context.ts'
import { exits, Failure, usage } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'
import type { Column, Out } from '../output/output.ts'
import { confirm } from '../input/prompt.ts'
import { resolveOrganization, resolveProject, type Named } from '../context/resolve.ts'
import { isTerminal } from '../output/streams.ts'
import { confirmDuplicate } from '../projects/confirmDuplicate.ts'
import { unreadableFile } from '../failures/unreadableFile.ts'

type Report = Output<Contract['transfers']['import']>
interface Flags {
  path?: string
  org?: string
  map?: Record<string, string>
  withPullRequests?: boolean
  dryRun?: boolean
  yes?: boolean
}

const fields: Column<Report>[] = [
  { name: 'projectIds', header: 'Projects', value: report => report.projectIds },
  { name: 'organizationId', header: 'Organization', value: report => report.organizationId },
  ...(['boards', 'columns', 'cards', 'attachments'] as const).map((name): Column<Report> => ({
    name,
    header: `New ${name}`,
    value: report => report[name],
  })),
  { name: 'skipped', header: 'Skipped', value: report => report.skipped },
]

export function register(command: Command): void {
  command
    .description(
      'Create cards from a file in the current project. With --path, or if there is no current project, create a new project. A file of board export creates a new project unless -P names one. Entries that the project already imported are skipped, and their cards are unchanged. An import does not start agents.',
    )
    .addArgument(
      new Argument(
        '<format>',
        'board: output of board export; trello: JSON export of a Trello board; github: output of gh issue list --json; markdown: task lists',
      ).choices(ImportFormat.options),
    )
    .argument('<file>', 'file, or - for stdin')
    .option(
      '--path <folder>',
      'folder of the new project on the server, created if its parent exists (default: the folder in the file, or the current folder)',
    )
    .option('--org <organization>', 'name or ID of the organization for new projects')
    .option(
      '--map <list=column>',
      'column for a list, a heading, or the state open, closed, [ ], [/] or [x] (repeatable)',
      parseMapping,
    )
    .option('--with-pull-requests', 'also import pull requests')
    .option('--dry-run', 'show what would be created, without creating it')
    .option('-y, --yes', 'skip the confirmation prompts, also if another project has the folder')
    .addHelpText(
      'after',
      "\nIn a project, cards go to the columns of the project's first board that have the\nlists' names. Missing columns are created.",
    )
    .action(async (format: ImportFormat, file: string, flags: Flags) => {
      const context = await openUserContext(command)
      await withFile(file, async path => printReport(context.out, await send(context, format, path, file, flags)))
    })
  prints(command, 'transfers.import')
  example(
    command,
    'board import board web.board.json --path ~/src/web',
    'board import trello trello.json --map "Doing=In Progress" --dry-run',
    'gh issue list --state all --limit 1000 --json number,title,body,labels,state,url,author,assignees,comments | board import github - -P web',
    'board import markdown TODO.md -P web',
  )
}

function parseMapping(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.lastIndexOf('=')
  if (at < 1 || at === text.length - 1)
    throw new InvalidArgumentError('must be a list and a column, like Doing="In Progress".')
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}

/** Passes the file's path to `use`. Stores stdin in a temporary file during the call. */
async function withFile(file: string, use: (path: string) => Promise<void>): Promise<void> {
  if (file !== '-') {
    const found = await stat(file).catch(error => {
      throw unreadableFile(file, error)
    })
    if (!found.isFile()) throw usage(`${file} is not a file`)
    return use(file)
  }
  if (isTerminal(0))
    throw usage('- reads stdin, and stdin is a terminal', { hint: 'for example: board import markdown - < TODO.md' })
  const folder = await mkdtemp(join(tmpdir(), 'board-import-'))
  try {
    const path = join(folder, 'stdin')
    await pipeline(process.stdin, createWriteStream(path, { mode: 0o600 }))
    await use(path)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function send(
  context: Context,
  format: ImportFormat,
  path: string,
  name: string,
  { path: folder, org, map, withPullRequests = false, dryRun = false, yes }: Flags,
): Promise<Report> {
  const { client, globals, out } = context
  if (globals.project !== undefined && (folder !== undefined || org !== undefined))
    throw usage('--path and --org apply only to new projects, and cannot be combined with -P')
  const project = await selectTarget(context, format, folder !== undefined || org !== undefined)
  if (project && globals.project === undefined) out.done(`Into project ${project.id} "${project.name}".`)
  else if (!dryRun) await confirmNew(context, format, folder, yes)
  const organizationId = org === undefined ? undefined : Number((await resolveOrganization(context, org)).id)
  if (withPullRequests && format !== 'github') throw usage('--with-pull-requests applies only to the format github')
  const sending = followSending(out, basename(name), (await stat(path)).size)
  try {
    const report = await client.transfers.import(
      {
        format,
        projectId: project && Number(project.id),
        organizationId,
        path: folder !== undefined ? absolute(folder) : !project && format !== 'board' ? absolute('.') : undefined,
        map: map && JSON.stringify(map),
        createFolder: folder !== undefined,
        withPullRequests,
        dryRun,
        file: { path, filename: name === '-' ? '' : basename(name), onProgress: sending.onProgress },
      },
      { signal: sending.signal },
    )
    if (sending.wasInterrupted) process.exitCode = exits.interrupted
    return report
  } catch (error) {
    if (sending.signal.aborted) throw sending.signal.reason
    throw error instanceof ApiFailure && error.code === 'INVALID_IMPORT' ? printFileErrors(error, out) : error
  } finally {
    sending.done()
  }
}

/** The project that receives the cards. Undefined for a new project. */
async function selectTarget(context: Context, format: ImportFormat, wantsNew: boolean): Promise<Named | undefined> {
  if (context.globals.project !== undefined) return resolveProject(context, context.globals.project)
  if (wantsNew || format === 'board' || (await context.projects()).length === 0) return undefined
  return context.project()
}

/**
 * Asks for confirmation of a new project. A file from `board export` contains complete projects, so an import in a project's folder is
 * ambiguous.
 */
async function confirmNew(
  context: Context,
  format: ImportFormat,
  folder: string | undefined,
  yes: boolean | undefined,
): Promise<void> {
  if (folder !== undefined) return confirmDuplicate(context, { path: absolute(folder) }, yes)
  const [here] = format === 'board' ? await context.projects() : []
  if (here)
    await confirm(
      context,
      `The current project is ${here.id} "${here.name}" (to import into it: -P ${here.id}). Create a new project from the file?`,
      yes,
    )
}

interface Sending {
  /** Aborted with the error to report when the command stops waiting. */
  signal: AbortSignal
  onProgress: (sentBytes: number) => void
  wasInterrupted: boolean
  done(): void
}

/**
 * Shows the progress of an import and handles Ctrl-C. While the file is sent, nothing is created. After the server has the
 * complete file, the import can succeed: the command waits for the answer unless Ctrl-C is pressed again.
 */
function followSending(out: Out, name: string, size: number): Sending {
  const stop = new AbortController()
  const progress = out.progress(`Importing ${name}`, size)
  let sentBytes = 0
  let sentAtMs: number | undefined
  const tick = setInterval(() => {
    // Update the line even without progress.
    if (sentAtMs === undefined) progress.to(sentBytes)
    else progress.showText(`the server is importing the file, for ${Math.round((Date.now() - sentAtMs) / 1000)} s`)
  }, 250)
  const sending: Sending = {
    signal: stop.signal,
    wasInterrupted: false,
    onProgress(sent) {
      sentBytes = sent
      progress.to(sent)
      if (sent === size) sentAtMs = Date.now()
    },
    done() {
      clearInterval(tick)
      progress.done()
      process.off('SIGINT', interrupt)
    },
  }
  const interrupt = () => {
    progress.done()
    if (sentAtMs === undefined) return stop.abort(new Failure('interrupted', 'interrupted; nothing was imported'))
    if (sending.wasInterrupted)
      return stop.abort(
        new Failure('interrupted', 'interrupted; the server cancels the import, or has already completed it', {
          see: 'board projects list',
        }),
      )
    sending.wasInterrupted = true
    out.warn('The server has received the file and finishes the import. Press Ctrl-C again to stop waiting.')
  }
  process.on('SIGINT', interrupt)
  return sending
}

/** Prints the errors of a file, one per line. */
function printFileErrors(error: ApiFailure, out: Out): unknown {
  if (error.details.length < 2) return error
  for (const { path, message } of error.details) out.warn(`${path} ${message}`)
  return new Failure(
    'usage',
    `nothing was imported: the file has ${error.details.length === 20 ? 'at least 20' : error.details.length} errors`,
    { cause: error },
  )
}

async function printReport(out: Out, report: Report): Promise<void> {
  for (const warning of report.warnings) out.warn(warning)
  if (out.quiet && !out.json) return out.ids(report.projectIds)
  const count = (cards: number) => `${cards} card${cards === 1 ? '' : 's'}`
  const skipped = report.skipped === 0 ? '' : ` and skipped ${count(report.skipped)} that already exist`
  out.done(
    report.dryRun
      ? `Would import ${count(report.cards)}${skipped.replace('skipped', 'skip')}.`
      : `Imported ${count(report.cards)}${skipped}. See: board cards list -P ${report.projectIds[0]}`,
  )
  await out.record(report, report.dryRun ? fields.slice(2) : fields)
}
