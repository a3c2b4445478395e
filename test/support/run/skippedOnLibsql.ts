import { noLibsqlServer } from '../servers/libsqlServer.ts'

/** The test files that are skipped when the tests run on a libSQL server, by reason. */
export const skippedOnLibsql: Readonly<Record<string, readonly string[]>> = {
  'They start no board: they use no database, or a separate store.': [
    'sources/*',
    'agents/{acpFailures,command,failures,launch,providers}',
    'backups/swap',
    'cli/help',
    'client/*',
    'domain/{outbox,reader,revocations,tickets,token}',
    'git/*',
    'logs/{exporter,files,redact}',
    'monitors/schedule',
    'process/*',
    'store/*',
    'transfers/json',
    'ui/{frame,settings,shelf}',
  ],
  'They run the program on a separate data folder with a database file.': [
    'attacks/log',
    'contract/canary',
    'cli/{frame-serve,https,server}',
    'backups/{otherVersion,releases}',
    'e2e/{fewDescriptors,readme}',
  ],
  'A board on a libSQL server is restored while no daemon serves it, with board database move: see test/daemons/move.load.test.ts.':
    ['agents/restored', 'backups/hostile', 'cli/backups', 'routes/{restore,restoreKept}'],
  'They kill the program, fill its disk or damage its file: test/e2e/severalDaemons.load.test.ts kills servers of a shared database.':
    ['backups/damage', 'e2e/{backupsKilled,diskFull,importCrash}'],
}

/** Their paths as globs, for `exclude`. */
export const skippedFiles: readonly string[] = Object.values(skippedOnLibsql)
  .flat()
  .map(pattern => `test/${pattern}{,.slow,.load}.test.ts`)

/** Prints what a run on libSQL servers skips. */
export default (): void => {
  if (noLibsqlServer !== undefined) throw new Error(`There is no libSQL server here. ${noLibsqlServer}`)
  for (const [reason, patterns] of Object.entries(skippedOnLibsql))
    process.stdout.write(`Skipped: ${patterns.join(', ')}: ${reason}\n`)
  process.stdout.write('Skipped: *.load.test.ts: they measure, or start their own libSQL servers.\n')
}
