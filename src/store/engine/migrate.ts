import LibsqlDatabase from 'libsql'
import { Problem } from '../../contract/errors.ts'
import { migrations } from '../schema/migrations.ts'
import type { Database, Reader } from './database.ts'

/** The schema version after the first migration. Commits before the first release used versions 1 to 51. */
const firstVersion = 100

/** The version that this program's migrations lead to. */
export const schemaVersion = firstVersion - 1 + migrations.length

/**
 * Migrates the schema to this program's version, each migration in its own transaction.
 * @param before called once with the current version, before a schema is changed
 * @throws Problem CONFLICT if a newer program or an unreleased version created the database
 */
export async function migrate(database: Database, before?: (present: number) => Promise<void>): Promise<void> {
  const present = await presentVersion(database)
  const problem = describeUnsupported(present)
  if (problem !== undefined) throw new Problem('CONFLICT', `This database ${problem}`)
  if (present > 0 && present < schemaVersion) await before?.(present)
  for (let version = Math.max(present, firstVersion - 1) + 1; version <= schemaVersion; version++) {
    await database.transaction(async tx => {
      // Another daemon on the same server might have migrated the database in the meantime.
      if ((await presentVersion(tx)) >= version) return
      for (const statement of statementsOf(migrations[version - firstVersion]!)) await tx.run(statement)
      await tx.run(`PRAGMA user_version = ${version}`)
    })
  }
}

/** Returns the reason why this program cannot use a schema version, and the fix. Undefined if it can. */
export function describeUnsupported(version: number): string | undefined {
  if (version > schemaVersion)
    return `has schema version ${version}, from a newer board. This program supports versions up to ${schemaVersion}. Run that board version or a newer one.`
  if (version > 0 && version < firstVersion)
    return `has schema version ${version}, from an unreleased version of the board, which this program cannot migrate. To move the data, start the board version that wrote it, export there with board export or board projects export, and import the files here with board import board.`
  return undefined
}

/** The names of a database's tables, indexes and triggers, and the triggers' SQL. */
export const objectsSql = `SELECT type, name, CASE type WHEN 'trigger' THEN sql ELSE '' END AS body FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name`

const objectsByVersion = new Map<number, unknown[]>()

/** The result of `objectsSql` in a database of this version. Cached, because it requires all migrations. */
export function objectsOf(version: number): unknown[] {
  const objects = objectsByVersion.get(version) ?? readObjects(version)
  objectsByVersion.set(version, objects)
  return objects
}

function readObjects(version: number): unknown[] {
  const database = new LibsqlDatabase(':memory:')
  try {
    for (const statement of schemaOf(version)) database.exec(statement)
    return database.prepare(objectsSql).all([])
  } finally {
    database.close()
  }
}

/** The statements that create the schema of a version. */
export const schemaOf = (version: number): string[] =>
  migrations.slice(0, version - firstVersion + 1).flatMap(statementsOf)

/** The version of a database's schema. 0 if there is no schema yet. */
export const presentVersion = async (database: Reader) =>
  (await database.get<{ user_version: number }>('PRAGMA user_version'))?.user_version ?? 0

/** A statement ends with a semicolon at a line's end, unless the next line continues a trigger's body. Omits comments. */
const statementsOf = (sql: string): string[] =>
  sql
    .replace(/^ *--.*\n/gm, '')
    .split(/;[ \t]*\n(?! {2}|END)/)
    .map(statement => statement.trim())
    .filter(statement => statement !== '')
