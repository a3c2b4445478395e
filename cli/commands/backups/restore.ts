import type { Command } from 'commander'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { dataFolder } from '../../../src/config/paths.ts'
import type { VerifiedBackup } from '../../../src/config/serverProgram.ts'
import type { Backup } from '../../../src/contract/server/backups.ts'
import { chooseBackup, columns, withElapsedSeconds, clientWithoutTimeout } from '../../server/backupWork.ts'
import { openUserContext, type Context } from '../../context/context.ts'
import { selectServer } from '../../context/selectServer.ts'
import { Failure, usage } from '../../failures/failure.ts'
import { globalsOf } from '../../parsing/globals.ts'
import { example, prints } from '../../help/help.ts'
import { findLocalServer } from '../../context/localServer.ts'
import { createOutput } from '../../output/createOutput.ts'
import type { Column, Out } from '../../output/output.ts'
import { programsOf } from '../../programs.ts'
import { confirmByName } from '../../input/prompt.ts'
import { unreadableFile } from '../../failures/unreadableFile.ts'

interface Restored {
  filename: string
  keptAs: string | null
}

const verifiedFields: Column<VerifiedBackup>[] = [
  { name: 'filename', style: 'id', value: file => file.filename },
  { name: 'createdAt', header: 'Made', style: 'time', value: file => file.createdAt },
  { name: 'size', value: file => file.size },
  { name: 'sha256', value: file => file.sha256 },
  { name: 'version', value: file => file.version },
  { name: 'schemaVersion', header: 'Schema', value: file => file.schemaVersion },
  { name: 'databaseSize', header: 'Database', value: file => file.databaseSize },
  { name: 'attachments', value: file => file.attachments },
  { name: 'missing', header: 'Missing', value: file => file.missing },
  { name: 'withKey', header: 'With key', value: file => file.withKey },
]

export function registerVerify(backups: Command): void {
  const verify = backups
    .command('verify [file]')
    .summary('Verify a backup')
    .description(
      'Verify a backup file on this machine as a restore does: its parts and hashes, and its database with all references. The command does not require a server.',
    )
    .option('--latest', 'use the newest backup in the data folder of this machine')
    .action(async (wanted: string | undefined, { latest }: { latest?: boolean }) => {
      const { out } = createOutput(globalsOf(verify))
      if ((wanted === undefined) === !latest)
        throw usage('specify either a backup file or --latest', { see: 'board backups list' })
      const file = wanted ?? (await newestHere(verify))
      if (!(await isFile(file)))
        throw new Failure('notFound', `${file} is not a file on this machine`, {
          hint: 'download it first: board backups download',
          see: 'board backups list',
        })
      await out.record(await verifyBackup(verify, out, file), verifiedFields)
      out.done('The backup is valid.')
    })
  example(
    verify,
    'board backups verify board-2026-07-30T09-41-00.000Z.tar.gz',
    'board backups verify backup.tar.gz --json',
    'board backups verify --latest',
  )
}

/** The newest backup of the data folder on this machine. @throws Failure (notFound) */
async function newestHere(command: Command): Promise<string> {
  const { findNewest } = await programsOf(command).server()
  const newest = await findNewest(dataFolder())
  if (newest === undefined)
    throw new Failure('notFound', `there is no backup in ${dataFolder()}`, {
      hint: 'create one: board backups create',
      see: 'board backups list',
    })
  return newest
}

export function registerUpload(backups: Command): void {
  const upload = backups
    .command('upload <file>')
    .summary('Upload a backup')
    .description('Upload a backup file to the server, which verifies it. The command does not restore it.')
    .action(async (file: string) => {
      const context = await openUserContext(upload)
      await context.out.record(await uploadBackup(context, file), columns)
    })
  prints(upload, 'backups.create')
  example(upload, 'board backups upload board-2026-07-30T09-41-00.000Z.tar.gz')
}

interface RestoreOptions {
  latest?: boolean
  yes?: boolean
  dryRun?: boolean
  dataDir?: string
}

export function registerRestore(backups: Command): void {
  const restore = backups
    .command('restore [file]')
    .summary('Restore a backup')
    .description(
      'Restore a backup of the server by its name, or a file of this machine. The server verifies the backup, keeps its current data as another backup, and signs out all other users. If no server is running, for example on another machine, the command restores the data folder of this machine.',
    )
    .option('--latest', 'use the newest verified backup of the server')
    .option('--data-dir <folder>', 'data folder of a stopped server')
    .option('--dry-run', 'verify the backup, and show what would change')
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (wanted: string | undefined, options: RestoreOptions) => {
      if (options.dataDir !== undefined && options.latest)
        throw usage('--latest requires a server', { hint: 'specify the file' })
      const context = options.dataDir === undefined ? await openUnlessStopped(restore) : undefined
      await (context ? restoreThere(restore, context, wanted, options) : restoreHere(restore, wanted, options))
    })
  prints(restore, 'backups.restore')
  example(
    restore,
    'board backups restore --latest',
    'board backups restore board-2026-07-30T09-41-00.000Z.tar.gz --dry-run',
    'board backups restore backup.tar.gz --data-dir /var/lib/board',
  )
}

/** Opens the selected server. Returns undefined if it is the local server and the server is stopped. */
async function openUnlessStopped(command: Command): Promise<Context | undefined> {
  const { url, local } = selectServer(globalsOf(command))
  if (!url || (local && (await findLocalServer()).state !== 'running')) return undefined
  return openUserContext(command)
}

async function restoreThere(
  command: Command,
  context: Context,
  wanted: string | undefined,
  { latest, yes, dryRun }: RestoreOptions,
): Promise<void> {
  const { out, selection } = context
  const isHere = wanted !== undefined && (await isFile(wanted))
  const filename = isHere ? undefined : await chooseBackup(context, wanted, latest)
  const found = filename === undefined ? await verifyBackup(command, out, wanted!) : await findBackup(context, filename)
  const name = found.filename
  if (dryRun)
    return out.line(
      `would restore ${name} from ${found.createdAt}, ${found.size} bytes, on ${selection.url!.value}, and keep the current data as a backup`,
    )
  await confirmByName(
    context,
    `Restoring ${name} from ${found.createdAt} replaces everything on ${selection.url!.value}.`,
    name,
    yes,
  )
  const onServer = filename ?? (await uploadOnce(context, wanted!))
  await reportRestored(
    out,
    await withElapsedSeconds(
      context,
      'Restoring',
      clientWithoutTimeout(context).backups.restore({ filename: onServer }),
    ),
  )
}

async function findBackup({ client }: Context, filename: string): Promise<Backup> {
  const backup = (await client.backups.list()).find(each => each.filename === filename)
  if (!backup)
    throw new Failure('notFound', `there is no backup ${filename} on the server, and no such file on this machine`, {
      see: 'board backups list',
    })
  if (!backup.verified)
    throw new Failure('conflict', `${filename} is not a complete backup`, { see: 'board backups list' })
  return backup
}

/** Uploads a file unless the server already has it. Returns its name on the server. */
async function uploadOnce(context: Context, path: string): Promise<string> {
  const sha256 = await hashFile(path)
  const present = (await context.client.backups.list()).find(each => each.sha256 === sha256)
  return (present ?? (await uploadBackup(context, path))).filename
}

async function uploadBackup(context: Context, path: string): Promise<Backup> {
  const found = await stat(path).catch(error => {
    throw unreadableFile(path, error)
  })
  if (!found.isFile()) throw usage(`${path} is not a file`)
  const progress = context.out.progress('Uploading', found.size)
  return clientWithoutTimeout(context)
    .backups.upload({ file: { path, onProgress: sent => progress.to(sent) } })
    .finally(() => progress.done())
}

async function restoreHere(
  command: Command,
  wanted: string | undefined,
  { dataDir: given, yes, dryRun }: RestoreOptions,
): Promise<void> {
  if (wanted === undefined)
    throw usage('no backup is specified', {
      hint: 'no server is running: specify a file, or a backup in the folder backups of the data folder',
    })
  const { out, mayAsk } = createOutput(globalsOf(command))
  const dataDir = resolve(given ?? dataFolder())
  const { findFile, restoreFile } = await programsOf(command).server()
  const path = await findFile(wanted, dataDir)
  const { filename, createdAt, size } = await verifyBackup(command, out, path)
  if (dryRun)
    return out.line(
      `would restore ${filename} from ${createdAt}, ${size} bytes, in ${dataDir}, and keep the current data`,
    )
  await confirmByName(
    { mayAsk },
    `Restoring ${filename} from ${createdAt} replaces everything in ${dataDir}.`,
    filename,
    yes,
  )
  const progress = out.progress('Restoring', size)
  await reportRestored(
    out,
    await restoreFile(path, dataDir, bytes => progress.to(bytes)).finally(() => progress.done()),
  )
}

async function reportRestored(out: Out, restored: Restored): Promise<void> {
  out.done(
    `Restored ${restored.filename}.${restored.keptAs === null ? '' : ` The previous data is kept as ${restored.keptAs}.`}`,
  )
  await out.record(restored, [
    { name: 'filename', style: 'id', value: each => each.filename },
    { name: 'keptAs', header: 'Kept as', value: each => each.keptAs },
  ])
}

async function verifyBackup(command: Command, out: Out, path: string): Promise<VerifiedBackup> {
  const progress = out.progress('Verifying', (await stat(path)).size)
  const { verifyFile } = await programsOf(command).server()
  return verifyFile(path, bytes => progress.to(bytes)).finally(() => progress.done())
}

const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    found => found.isFile(),
    () => false,
  )

async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk)
  return hash.digest('hex')
}
