import type { Command } from 'commander'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { inItsProject, type CardPlace } from '../cardRoutes.ts'
import { openContext, type Context } from '../context.ts'
import { fileReason, usage } from '../exit.ts'
import { example } from '../help.ts'
import type { Column } from '../output.ts'
import { saveDownload } from '../saveDownload.ts'

type Attachment = Output<Contract['attachments']['create']>

const columns: Column<Attachment>[] = [
  { name: 'id', style: 'id', align: 'right', value: file => file.id }, { name: 'filename', style: 'title', value: file => file.filename },
  { name: 'size', align: 'right', value: file => file.size }, { name: 'contentType', header: 'TYPE', value: file => file.contentType },
  { name: 'createdAt', header: 'CREATED', style: 'time', value: file => file.createdAt },
]

export function registerVerbs(cards: Command): void {
  const attach = cards.command('attach <card> <files...>').summary('Attach files to a card').description('Attach files to a card.')
    .action(async (id: string, files: string[]) => {
      const context = await openContext(attach)
      await inItsProject(context, id, place => attached(context, place, files))
    })
  example(attach, 'board cards attach 12 screenshot.png server.log')
  const list = cards.command('attachments <card>').summary('List a card\'s attachments').description('List a card\'s attachments.')
    .action(async (id: string) => {
      const context = await openContext(list)
      await context.out.list(await inItsProject(context, id, place => context.client.attachments.list(place)), columns, { empty: 'No attachments.' })
    })
  example(list, 'board cards attachments 12')
  const download = cards.command('download <attachment>').summary('Download an attachment').description('Download an attachment, and print the name of the file.')
    .option('-o, --output <file>', 'the file or folder to write, or - for stdout (default: the attachment\'s own name, here)')
    .action(async (id: string, { output }: { output?: string }) => {
      const context = await openContext(download)
      await saveDownload(context.out, await context.client.attachments.download({ attachmentId: id }), output, `attachment-${id}`)
    })
  example(download, 'board cards download 5', 'board cards download 5 -o - | less')
}

/** Uploads one file after the other. What was uploaded before a failure is printed. */
async function attached({ client, out }: Context, place: CardPlace, files: readonly string[]): Promise<void> {
  for (const path of files) await checkFile(path)
  const done: Attachment[] = []
  try {
    for (const path of files) {
      const progress = out.progress(`Uploading ${basename(path)}`, (await stat(path)).size)
      done.push(await client.attachments.create({ ...place, file: { path, onProgress: sent => progress.to(sent) } }))
      progress.done()
    }
  } finally {
    await out.list(done, columns)
  }
}

async function checkFile(path: string): Promise<void> {
  const found = await stat(path).catch((error: unknown) => { throw usage(`${path} cannot be read: ${fileReason(error)}`) })
  if (!found.isFile()) throw usage(`${path} is not a file`)
}
