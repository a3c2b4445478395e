import { translateError, type Reader, type Value } from '../database.ts'
import type { Rows, Statement } from './hrana.ts'
import { objectMaker } from '../objectMaker.ts'

/** A reader of a libSQL server, which runs its statements by `execute`. */
export function readerOf(
  host: string,
  execute: (statement: Statement) => Promise<Pick<Rows, 'columns' | 'rows'>>,
): Reader {
  const ask = async <T>(sql: string, args: readonly Value[] = []): Promise<T[]> =>
    recordsOf(await execute({ sql, args: bind(args) }).catch(fail)) as T[]
  return {
    host,
    all: ask,
    get: async <T>(sql: string, args?: readonly Value[]) => (await ask<T>(sql, args))[0],
  }
}

/** A result's rows as objects. */
export function recordsOf({ columns, rows }: Pick<Rows, 'columns' | 'rows'>): Array<Record<string, unknown>> {
  if (rows.length === 0) return []
  let maker = makers.get(columns)
  if (!maker) makers.set(columns, (maker = objectMaker(columns)))
  return rows.map(maker) as Array<Record<string, unknown>>
}
/** Identical columns share one list: see src/store/engine/remote/hranaDecoding.ts. */
const makers = new WeakMap<readonly string[], (row: ArrayLike<unknown>) => object>()

const fail = (error: unknown): never => {
  throw translateError(error)
}

/** @throws TypeError for a value that the database would convert */
export const bind = (args: readonly Value[]): Statement['args'] =>
  args.map(arg => {
    if (arg === undefined) return null
    if (typeof arg === 'number' && !Number.isFinite(arg))
      throw new TypeError('A parameter must be text, a finite number, a boolean or null.')
    return typeof arg === 'boolean' ? Number(arg) : arg
  })
