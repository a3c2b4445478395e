import { build, type BuildOptions, type Plugin } from 'esbuild'
import { copyFileSync, cpSync, readFileSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { schemaVersion } from '../../../src/store/engine/migrate.ts'

const { programs } = (await import(resolve('daemon/programs.mjs'))) as { programs: BuildOptions[] }

/** The migrations of a next version: a column, a table with rows from every card, and a change of every card. */
const nextMigrations = [
  "ALTER TABLE cards ADD COLUMN next_text TEXT NOT NULL DEFAULT ''",
  `CREATE TABLE next_cards (card_id INTEGER PRIMARY KEY REFERENCES cards(id) ON DELETE CASCADE, title TEXT NOT NULL);
INSERT INTO next_cards SELECT id, title FROM cards;`,
  'UPDATE cards SET next_text = title',
]
export const nextSchemaVersion = schemaVersion + nextMigrations.length

const addMigrations: Plugin = {
  name: 'next-migrations',
  setup: ({ onLoad }) => {
    onLoad({ filter: /src[\\/]store[\\/]schema[\\/]migrations\.ts$/ }, ({ path }) => ({
      loader: 'ts',
      contents: `${readFileSync(path, 'utf8').replace('export const migrations', 'const released')}
export const migrations = [...released, ...${JSON.stringify(nextMigrations)}]`,
    }))
  },
}

/** Builds the board with three more migrations in a separate folder, and returns the path of its program. */
export async function buildNextVersion(folder: string): Promise<string> {
  cpSync('bin', join(folder, 'bin'), { recursive: true })
  copyFileSync('package.json', join(folder, 'package.json'))
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'), 'junction')
  await Promise.all(
    programs.map(options =>
      build({ ...options, outdir: join(folder, 'dist'), plugins: [...(options.plugins ?? []), addMigrations] }),
    ),
  )
  return join(folder, 'bin', 'board.js')
}
