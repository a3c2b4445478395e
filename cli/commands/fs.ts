import type { Command } from 'commander'
import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { openUserContext, type Context } from '../context/context.ts'
import { Failure } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'
import type { Column } from '../output/output.ts'
import { saveDownload } from '../output/saveDownload.ts'
import { writeStream } from '../output/streams.ts'
import { escapeControls } from '../output/text.ts'

type Entry = Output<Contract['filesystem']['browse']>['entries'][number]
type Part = Output<Contract['filesystem']['read']>

const columns: Column<Entry>[] = [
  { name: 'type', style: 'dim', value: entry => entry.type },
  { name: 'size', align: 'right', value: entry => entry.size },
  { name: 'modifiedAt', header: 'MODIFIED', style: 'time', value: entry => entry.modifiedAt },
  { name: 'isGitRepository', header: 'GIT', value: entry => (entry.isGitRepository ? 'git' : null) },
  { name: 'name', style: 'title', value: entry => entry.name },
  { name: 'path', hidden: true, value: entry => entry.path },
]
// Root folders are listed by their complete path.
const roots: Column<Entry>[] = [
  ...columns.filter(({ name }) => name !== 'name' && name !== 'path'),
  { name: 'path', style: 'title', value: entry => entry.path },
  { name: 'name', hidden: true, value: entry => entry.name },
]

export function register(fs: Command): void {
  const ls = fs
    .command('ls [path]')
    .summary('List a folder on the server')
    .description(
      "List a folder on the server: the folders of projects that you can view, and for a super_admin also the server's browse root. Without a path, list these top folders. -q prints paths.",
    )
    .action(async (path?: string) => list(await openUserContext(ls), path))
  prints(ls, null, 'name path type size modifiedAt isGitRepository')
  example(
    ls,
    'board fs ls',
    'board fs ls /home/ada/my-app',
    "board fs ls . --jq '.[] | select(.isGitRepository) | .path'",
  )
  const cat = fs
    .command('cat <path>')
    .summary('Print a file of the server')
    .description(
      'Print or save a file of the server. The command writes binary files only to a file or a pipe, not to a terminal.',
    )
    .option('-o, --output <file>', 'file or folder to write, or - for stdout')
    .action(async (path: string, { output }: { output?: string }) =>
      printFile(await openUserContext(cat), path, output),
    )
  prints(cat, 'filesystem.read')
  example(cat, 'board fs cat /home/ada/my-app/README.md', 'board fs cat ./logo.png -o logo.png')
}

async function list(context: Context, path: string | undefined): Promise<void> {
  const { out, client } = context
  const { entries, truncated } = await client.filesystem.browse({
    path: path === undefined ? undefined : pathOn(context, path),
  })
  if (out.quiet) out.ids(entries.map(entry => escapeControls(entry.path)))
  else
    await out.list(entries, path === undefined ? roots : columns, {
      empty: path === undefined ? 'There are no folders that you can access.' : 'The folder is empty.',
    })
  if (truncated) out.warn(`the folder has more entries; these are the first ${entries.length}`)
}

async function printFile(context: Context, path: string, output: string | undefined): Promise<void> {
  const { out, client } = context
  const asked = pathOn(context, path)
  const readPart = (offset: number) => client.filesystem.read({ path: asked, offset })
  const first = await readPart(0)
  if (out.json) return out.value(first)
  if (output !== undefined)
    return saveDownload(
      out,
      {
        filename: asked.split(/[/\\]/).at(-1),
        contentType: first.contentType,
        size: first.size,
        body: Readable.from(readParts(first, readPart)),
      },
      output,
      'file',
    )
  if (out.terminal.stdout && first.encoding === 'base64')
    throw new Failure('usage', `${path} is not a text file (${first.contentType})`, { hint: 'to save it: -o FILE' })
  if (out.terminal.stdout && !first.truncated)
    return out.text(escapeControls(first.content, true).replace(/([^\n])$/, '$1\n'))
  const bytes = Readable.from(readParts(first, readPart))
  await writeStream(
    out.terminal.stdout ? bytes.map((part: Buffer) => escapeControls(part.toString('utf8'), true)) : bytes,
  )
}

/** A file's bytes, part after part. */
async function* readParts(first: Part, readPart: (offset: number) => Promise<Part>): AsyncGenerator<Buffer> {
  let [part, offset] = [first, 0]
  for (;;) {
    const bytes = Buffer.from(part.content, part.encoding)
    yield bytes
    offset += bytes.length
    if (!part.truncated || bytes.length === 0) return
    part = await readPart(offset)
  }
}

/** If the server runs on this machine, a relative path is relative to the working folder. */
const pathOn = ({ selection }: Context, path: string): string => (selection.local ? resolve(path) : path)
