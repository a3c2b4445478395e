import type { Command } from 'commander'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { dataFolder } from '../../src/config/paths.ts'
import type { DatabaseMove, MovedDatabase } from '../../src/config/serverProgram.ts'
import { usage } from '../failures/failure.ts'
import { globalsOf } from '../parsing/globals.ts'
import { example } from '../help/help.ts'
import { createOutput } from '../output/createOutput.ts'
import type { Column } from '../output/output.ts'
import { confirm, confirmByName } from '../input/prompt.ts'
import { programsOf } from '../programs.ts'
import { databaseOf, machineOf } from '../server/serveOptions.ts'

interface Options {
  to?: string
  from?: string
  dataDir?: string
  machine?: string
  replace?: boolean
  dryRun?: boolean
  yes?: boolean
}

const columns: Column<MovedDatabase['tables'][number]>[] = [
  { name: 'table', style: 'title', value: each => each.table },
  { name: 'rows', align: 'right', value: each => each.rows },
  { name: 'sha256', style: 'dim', value: each => each.sha256 },
]

export function register(command: Command): void {
  command.description('Move the board between a file on this machine and a libSQL server that several machines share.')
  const move = command
    .command('move')
    .summary('Move the board to or from a libSQL server')
    .description(
      'Copy the whole board of this machine, or of a backup, to a libSQL server, or from the server to this machine, and compare every row afterwards. Neither of them can be in use by a server. The source is unchanged. BOARD_DATABASE_TOKEN is the token of the libSQL server. Attachments are not copied.',
    )
    .option('--to <url>', 'libSQL server to copy to', databaseOf)
    .option('--from <source>', 'libSQL server to copy from, or with --to a backup file')
    .option('--data-dir <folder>', 'data folder of the board on this machine')
    .option(
      '--machine <name>',
      'name of this machine among those that share the board (default: its host name)',
      machineOf,
    )
    .option('--replace', 'replace the board on the libSQL server')
    .option('--dry-run', 'show how much would be copied, without copying it')
    .option('-y, --yes', 'skip the confirmation prompt')
    .action((options: Options) => run(move, options))
  example(
    move,
    'board database move --to ws://db.example.com:8080 --dry-run',
    'board database move --to ws://db.example.com:8080 --machine build-1',
    'board database move --from ws://db.example.com:8080',
    'board database move --from backup.tar.gz --to ws://db.example.com:8080 --replace',
  )
}

async function run(
  command: Command,
  { to, from, dataDir: given, machine = hostname(), replace, dryRun, yes }: Options,
): Promise<void> {
  const isBackup = to !== undefined && from !== undefined
  if (to === undefined && from === undefined)
    throw usage('where to?', { hint: 'specify --to or --from, with the address of a libSQL server' })
  if (replace && to === undefined) throw usage('--replace requires --to')
  const { out, mayAsk } = createOutput(globalsOf(command))
  const dataDir = resolve(given ?? dataFolder())
  const url = to ?? serverOf(from!)
  const [source, target] = to === undefined ? [url, dataDir] : [isBackup ? from : dataDir, url]
  if (!dryRun && replace)
    await confirmByName({ mayAsk }, `The board on ${target} is deleted and replaced by that of ${source}.`, url, yes)
  else if (!dryRun) await confirm({ mayAsk }, `Copy the board of ${source} to ${target}?`, yes)
  const { findFile, moveFromServer, moveToServer } = await programsOf(command).server()
  const progress = out.progress('Copying rows')
  const options: DatabaseMove = {
    dataDir,
    machine,
    replace,
    dryRun,
    server: { url, token: process.env.BOARD_DATABASE_TOKEN || undefined },
    onProgress: done => progress.to(done),
  }
  const moved = await (
    to === undefined
      ? moveFromServer(options)
      : moveToServer(options, isBackup ? await findFile(from, dataDir) : undefined)
  ).finally(() => progress.done())
  if (dryRun) return out.line(`would copy ${moved.rows} rows from ${source} to ${target}`)
  await out.list(
    moved.tables.filter(({ rows }) => rows > 0),
    columns,
  )
  out.done(
    to === undefined
      ? `The board is now in ${dataDir}. To serve it: board serve`
      : `The board is on ${url} now${moved.keptAs === null ? '' : `; the previous data is kept as ${moved.keptAs}`}. Serve it on each machine with the same BOARD_SECRET_KEY, here the content of secret.key: board serve --database ${url}`,
  )
}

function serverOf(text: string): string {
  try {
    return databaseOf(text)
  } catch {
    throw usage(`${text} is not the address of a libSQL server`, {
      hint: 'for example ws://db.example.com:8080; for a backup file, use --to',
    })
  }
}
