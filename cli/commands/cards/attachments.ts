import type { Command } from 'commander'
import { runBulk, readIds } from '../../input/bulk.ts'
import { inItsProject, type CardPlace } from '../../cards/cardApi.ts'
import { belongsElsewhere } from '../../context/otherProjects.ts'
import { openContext, type Context } from '../../context/context.ts'
import { example, prints } from '../../help/help.ts'
import { addNewestOptions, printNewest, type NewestOptions } from '../../requests/cursorList.ts'
import type { Column } from '../../output/output.ts'
import { confirm } from '../../input/prompt.ts'
import { idOf, isId } from '../../context/resolve.ts'
import { saveDownload } from '../../output/saveDownload.ts'
import { upload, type Attachment } from '../../cards/upload.ts'

const columns: Column<Attachment>[] = [
  { name: 'id', style: 'id', align: 'right', value: file => file.id },
  { name: 'filename', style: 'title', value: file => file.filename },
  { name: 'size', align: 'right', value: file => file.size },
  { name: 'contentType', header: 'TYPE', value: file => file.contentType },
  { name: 'createdAt', header: 'CREATED', style: 'time', value: file => file.createdAt },
]
const cardColumn: Column<Attachment> = { name: 'cardId', header: 'CARD', align: 'right', value: file => file.cardId }

export function registerVerbs(cards: Command): void {
  const attach = cards
    .command('attach <card> <files...>')
    .summary('Attach files to a card')
    .action(async (id: string, files: string[]) => {
      const context = await openContext(attach)
      await inItsProject(context, id, place => uploadFiles(context, place, files))
    })
  prints(attach, 'attachments.list')
  example(attach, 'board cards attach 12 screenshot.png server.log')
  const list = cards
    .command('attachments [card]')
    .summary('List attachments')
    .description('List the attachments of a card, or without a card those of the project, newest first.')
    .action(async (id: string | undefined, options: NewestOptions) =>
      listAttachments(await openContext(list), id, options),
    )
  prints(list, 'attachments.list')
  example(addNewestOptions(list, 100, 'attachments'), 'board cards attachments 12', 'board cards attachments')
  const download = cards
    .command('download <attachment>')
    .summary('Download an attachment')
    .description('Download an attachment, and print the name of the file.')
    .option(
      '-o, --output <file>',
      "file or folder to write, or - for stdout (default: the attachment's name in the current folder)",
    )
    .action(async (id: string, { output }: { output?: string }) => {
      const context = await openContext(download)
      const attachmentId = idOf(id)
      await requireHere(context, attachmentId)
      await saveDownload(
        context.out,
        await context.client.attachments.download({ attachmentId }),
        output,
        `attachment-${attachmentId}`,
      )
    })
  prints(download, null, 'path size')
  example(download, 'board cards download 5', 'board cards download 5 -o - | less')
  registerDetach(cards)
}

async function listAttachments(context: Context, cardId: string | undefined, options: NewestOptions): Promise<void> {
  if (cardId !== undefined)
    return printFirst(
      context,
      await inItsProject(context, cardId, place => context.client.attachments.list(place)),
      options,
    )
  const { id: projectId } = await context.project()
  await printNewest(
    context.out,
    options,
    asked => context.client.attachments.listProject({ projectId, ...asked }),
    [columns[0]!, cardColumn, ...columns.slice(1)],
    { one: 'attachment', many: 'attachments' },
  )
}

async function printFirst(
  { out }: Context,
  files: readonly Attachment[],
  { limit, all }: NewestOptions,
): Promise<void> {
  const shown = all ? files : files.slice(0, limit)
  await out.list(shown, columns, { empty: 'No attachments.' })
  if (shown.length < files.length)
    out.warn(`there are more attachments; these are the first ${shown.length}. --all lists every attachment`)
}

function registerDetach(cards: Command): void {
  const detach = cards
    .command('detach <attachments...>')
    .summary('Delete attachments')
    .description('Delete attachments permanently. - reads IDs from stdin.')
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (ids: string[], { yes }: { yes?: boolean }) => {
      const context = await openContext(detach)
      const wanted = await readIds(ids)
      if (wanted.length > 0)
        await confirm(
          context,
          wanted.length === 1 ? `Delete attachment ${wanted[0]}?` : `Delete ${wanted.length} attachments?`,
          yes,
        )
      const remove = async (attachmentId: string) => {
        await requireHere(context, attachmentId)
        await context.client.attachments.delete({ attachmentId })
      }
      await runBulk(context, wanted, remove, { verb: 'deleted' })
    })
  prints(detach, null, 'id result error')
  example(detach, 'board cards detach 5', 'board cards attachments 12 -q | board cards detach - --yes')
}

/**
 * Rejects an attachment of a project other than the current one.
 * @throws Failure (not found) with the name of the attachment's project
 */
async function requireHere(context: Context, attachmentId: string): Promise<void> {
  const here = await context.projects()
  if (context.external || here.length === 0 || !isId(attachmentId)) return
  const isIn = async (projectId: string) =>
    (
      await context.client.attachments.listProject({ projectId, cursor: Number(attachmentId) + 1, limit: 1 })
    ).items.some(({ id }) => id === attachmentId)
  for (const { id } of here) if (await isIn(id)) return
  for (const { id } of await context.client.projects.list())
    if (await isIn(id)) throw await belongsElsewhere(context, `attachment ${attachmentId}`, id)
}

/** Uploads files to a card. After a failure, prints the files that were uploaded. */
async function uploadFiles(context: Context, place: CardPlace, files: readonly string[]): Promise<void> {
  const done: Attachment[] = []
  try {
    await upload(context, place, files, file => done.push(file))
  } finally {
    await context.out.list(done, columns)
  }
}
