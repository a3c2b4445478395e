import type { Command } from 'commander'
import type { Backup } from '../../src/contract/server/backups.ts'
import { count } from '../parsing/arguments.ts'
import { chooseBackup, columns, withElapsedSeconds, clientWithoutTimeout } from '../server/backupWork.ts'
import { openContext, openUserContext, requireUser, type Context } from '../context/context.ts'
import { usage } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'
import { confirm } from '../input/prompt.ts'
import { requireOutput, saveDownload } from '../output/saveDownload.ts'
import { registerRestore, registerUpload, registerVerify } from './backups/restore.ts'

export function register(backups: Command): void {
  backups.description(
    'Create, verify and restore backups. To create backups automatically, start the server with board serve --backup-every.',
  )
  registerCreate(backups)
  const list = backups
    .command('list')
    .summary('List backups')
    .description('List the backups on the server, newest first.')
    .action(async () => {
      const context = await openContext(list)
      await context.out.list(await context.client.backups.list(), columns, {
        empty: 'No backups. Create one: board backups create',
      })
    })
  prints(list, 'backups.list')
  example(list, 'board backups list', "board backups list --jq '.[0].createdAt'")
  registerDownload(backups)
  registerVerify(backups)
  registerUpload(backups)
  registerRestore(backups)
  registerDelete(backups)
}

/** Backups hold all data and can include the encryption key. */
const secretMode = 0o600

interface CreateOptions {
  withKey?: boolean
  output?: string
  keep?: number
}

function registerCreate(backups: Command): void {
  const create = backups
    .command('create')
    .summary('Create a backup')
    .description(
      'Back up the database and the attachments on the server, and print the name of the backup. In cron, use a key with backups.create.',
    )
    .option(
      '--with-key',
      'include the key that decrypts stored secrets, which a restore on another machine requires; protect such a file',
    )
    .option('-o, --output <file>', 'also download it to this file or folder, or - for stdout')
    .option('--keep <number>', 'keep the newest N backups of this kind and delete the rest', count)
    .action(async ({ withKey, output, keep }: CreateOptions) => {
      const context = await openContext(create)
      await requireOutput(context, output)
      if (keep !== undefined) requireUser(context, 'backups create --keep')
      const made = await withElapsedSeconds(
        context,
        'Backing up',
        clientWithoutTimeout(context).backups.create({ withKey: withKey === true }),
      )
      if (output === undefined) await context.out.record(made, columns)
      else
        await saveDownload(
          context.out,
          await context.client.backups.download({ filename: made.filename }),
          output,
          made.filename,
          secretMode,
        )
      if (keep !== undefined)
        await deleteAll(
          context,
          olderThanNewest(
            (await context.client.backups.list()).filter(({ origin }) => origin === 'request'),
            keep,
          ),
        )
    })
  prints(create, 'backups.create')
  example(
    create,
    'board backups create',
    'board backups create --keep 7 -q',
    'board backups create -o - | ssh safe "cat > board.tar.gz"',
  )
}

function registerDownload(backups: Command): void {
  const download = backups
    .command('download [backup]')
    .summary('Download a backup')
    .description('Download a backup, and print the name of the file.')
    .option('--latest', 'use the newest verified backup')
    .option(
      '-o, --output <file>',
      "file or folder to write, or - for stdout (default: the backup's name in the current folder)",
    )
    .action(async (wanted: string | undefined, { latest, output }: { latest?: boolean; output?: string }) => {
      const context = await openContext(download)
      await requireOutput(context, output)
      const filename = await chooseBackup(context, wanted, latest)
      await saveDownload(context.out, await context.client.backups.download({ filename }), output, filename, secretMode)
    })
  prints(download, null, 'path size')
  example(download, 'board backups download --latest', 'board backups download --latest -o - | tar tz')
}

function registerDelete(backups: Command): void {
  const command = backups
    .command('delete [backups...]')
    .summary('Delete backups')
    .description('Delete backups, or all except the newest valid ones.')
    .option('--keep <number>', 'keep the newest N backups and delete the rest', count)
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (wanted: string[], { keep, yes }: { keep?: number; yes?: boolean }) => {
      if ((wanted.length === 0) === (keep === undefined))
        throw usage('specify either backups or --keep', { see: 'board backups list' })
      const context = await openUserContext(command)
      const filenames = keep === undefined ? wanted : olderThanNewest(await context.client.backups.list(), keep)
      if (filenames.length === 0) return context.out.done('There are no older backups to delete.')
      await confirm(
        context,
        filenames.length === 1 ? `Delete ${filenames[0]}?` : `Delete ${filenames.length} backups?`,
        yes,
      )
      await deleteAll(context, filenames)
    })
  example(command, 'board backups delete board-2026-07-30T09-41-00.000Z.tar.gz', 'board backups delete --keep 10 --yes')
}

/** The names of the backups that are older than the newest `keep` valid backups. */
function olderThanNewest(newestFirst: readonly Backup[], keep: number): string[] {
  let good = 0
  return newestFirst
    .filter(({ verified }) => good >= keep || (good += Number(verified)) > keep)
    .map(({ filename }) => filename)
}

async function deleteAll({ client, out }: Context, filenames: readonly string[]): Promise<void> {
  for (const filename of filenames) {
    await client.backups.delete({ filename })
    out.done(`Deleted ${filename}.`)
  }
}
