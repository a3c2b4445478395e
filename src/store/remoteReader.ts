import { translate, type Gathered, type Reader, type Value } from './database.ts'
import type { Rows, Statement } from './hrana.ts'

/** A reader of a libSQL server whose statements `execute` runs. */
export function readerOf(
  host: string,
  execute: (statement: Statement) => Promise<Pick<Rows, 'columns' | 'rows'>>,
): Reader {
  const ask = async <T>(sql: string, args: readonly Value[] = [], gathered?: Gathered): Promise<T[]> =>
    recordsOf(await execute({ sql, args: bind(args), gathered }).catch(fail)) as T[]
  return {
    host,
    all: (sql, args) => ask(sql, args),
    get: async <T>(sql: string, args?: readonly Value[], gathered?: Gathered) => (await ask<T>(sql, args, gathered))[0],
  }
}

/** A result's rows as objects. */
export const recordsOf = ({ columns, rows }: Pick<Rows, 'columns' | 'rows'>): Array<Record<string, unknown>> =>
  rows.map(row => Object.fromEntries(columns.map((column, index) => [column, row[index]])))

const fail = (error: unknown): never => {
  throw translate(error)
}

/** Whole numbers are sent as integers: as a float, 1 becomes 1.0 in JSON made by SQL. */
export const bind = (args: readonly Value[]): Statement['args'] =>
  args.map(arg => {
    if (arg === undefined) return null
    if (typeof arg === 'number' && !Number.isFinite(arg))
      throw new TypeError('A parameter must be text, a finite number, a boolean or null.')
    if (typeof arg === 'number' && Number.isSafeInteger(arg)) return BigInt(arg)
    return typeof arg === 'boolean' ? BigInt(arg) : arg
  })
