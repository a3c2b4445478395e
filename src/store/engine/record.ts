import type { Transaction, Value } from './database.ts'

/**
 * A record is described by one table of its fields. The type of its row, the SELECT, JSON generated in SQL, INSERT, UPDATE and
 * the views (src/views/view.ts) follow from it. A field's column has the field's name in snake case.
 * - `id`: a row's ID. Internal routes show it as text, all others as an integer.
 * - `flag`: 0 and 1 in a row, false and true elsewhere.
 * - `json`: JSON text in a row, its value elsewhere.
 * - `text`, `number`: identical everywhere.
 */
export type Kind = 'id' | 'flag' | 'json' | 'text' | 'number'
/** Whether a new record must include a field, can omit it, or cannot include it because SQL computes it. */
type Writing = 'required' | 'optional' | 'computed'

/** `Stored` is the type in a row, `Shown` the type in a view. */
interface Field<K extends Kind = Kind, Stored = unknown, Shown = unknown, W extends Writing = Writing> {
  readonly kind: K
  /** The column's name, if it is not the field's name in snake case. */
  readonly name?: string
  /** SQL of a computed field. */
  readonly sql?: string
  /** The value of a new record that does not name the field. */
  readonly initial?: Value | typeof now
  /** Exists only for types. */
  readonly types?: { stored: Stored; shown: Shown; writing: W }
}
interface Definition<K extends Kind, Stored, Shown, W extends Writing> extends Field<K, Stored, Shown, W> {
  /** Allows null, which is the default of a new record. */
  orNull(): Definition<K, Stored | null, Shown | null, 'optional'>
  initially(initial: Stored | Shown): Definition<K, Stored, Shown, 'optional'>
  /** The default is the time of the transaction that creates the record. */
  initiallyNow(): Definition<K, Stored, Shown, 'optional'>
  computed(sql: string): Definition<K, Stored, Shown, 'computed'>
  column(name: string): Definition<K, Stored, Shown, W>
}
const now = Symbol('the time of the transaction')

export const id = () => define<'id', number, number>('id')
export const flag = () => define<'flag', number, boolean>('flag')
export const text = <T extends string = string>() => define<'text', T, T>('text')
export const number = () => define<'number', number, number>('number')
export const json = <T>() => define<'json', string, T>('json')

function define<K extends Kind, Stored, Shown, W extends Writing = 'required'>(
  kind: K,
  given: Pick<Field, 'name' | 'sql' | 'initial'> = {},
): Definition<K, Stored, Shown, W> {
  return {
    kind,
    ...given,
    orNull: () => define(kind, given),
    initially: initial => define(kind, { ...given, initial: initial as Value }),
    initiallyNow: () => define(kind, { ...given, initial: now }),
    computed: sql => define(kind, { ...given, sql }),
    column: name => define(kind, { ...given, name }),
  }
}

export type Fields = Readonly<Record<string, Field>>
type StoredOf<F> = F extends Field<Kind, infer Stored> ? Stored : never
/** The values that can be written to a field. */
type Given<F> = F extends Field<'flag'> ? boolean | StoredOf<F> : StoredOf<F>
type WritingOf<F> = F extends Field<Kind, unknown, unknown, infer W> ? W : never
type NamesOf<T extends Fields, W extends Writing> = {
  [Name in keyof T]: Name extends 'id' ? never : WritingOf<T[Name]> extends W ? Name : never
}[keyof T]

/** A row of the database. */
export type Row<T extends Fields> = { -readonly [Name in keyof T]: StoredOf<T[Name]> }
/** The fields of a new record. */
export type NewRow<T extends Fields> = { [Name in NamesOf<T, 'required'>]: Given<T[Name]> } & {
  [Name in NamesOf<T, 'optional'>]?: Given<T[Name]>
}
/** The fields that a change can include. */
export type Change<T extends Fields> = { [Name in NamesOf<T, 'required' | 'optional'>]?: Given<T[Name]> }
/** A field as a view shows it, with IDs as text or as integers. */
export type ShownField<F, Ids extends 'text' | 'integer'> =
  F extends Field<infer K, infer Stored, infer S>
    ? K extends 'id'
      ? Ids extends 'text'
        ? Exclude<S, number> | string
        : Stored
      : S
    : never

/** The statements of a record that is kept in `table`, which its queries call `alias`. */
export interface RecordTable<T extends Fields> {
  readonly fields: T
  /** The list of a SELECT: all fields, or the named ones. */
  readonly columns: string
  columnsOf(names: ReadonlyArray<keyof T>): string
  /** SQL of a JSON object with these fields in their order. SQL of `instead` replaces that of its fields. */
  jsonOf<Name extends keyof T & string>(
    names: readonly Name[],
    ids: 'text' | 'integer',
    instead?: { [Field in Name]?: string },
  ): string
  /** Inserts a record. @returns its ID */
  insert(tx: Transaction, row: NewRow<T>): Promise<number>
  /**
   * Queues an UPDATE of the fields in `change`. Sets `updatedAt` to the transaction's time and increments `version` if the record
   * has them. Without either, an empty change does nothing.
   */
  update(tx: Transaction, id: number, change: Change<T>): void
}

export function defineRecord<const T extends Fields>(table: string, alias: string, fields: T): RecordTable<T> {
  const columnOf = (name: string) => fields[name]!.name ?? snakeCase(name)
  const sqlOf = (name: string) => fields[name]!.sql ?? `${alias}.${columnOf(name)}`
  const columnsOf = (names: ReadonlyArray<keyof T>) =>
    (names as readonly string[]).map(name => `${sqlOf(name)} AS ${name}`).join(', ')
  const written = Object.keys(fields).filter(name => name !== 'id' && fields[name]!.sql === undefined)
  const columns = new Map(written.map(name => [name, columnOf(name)]))
  const initials = written.map(name => fields[name]!.initial)
  // A constant: the engine caches prepared statements by their text, and building the text costs more than the look-up.
  const insert = `INSERT INTO ${table} (${[...columns.values()].join(', ')}) VALUES (${written.map(() => '?').join(', ')})`
  const valuesOf = (tx: Transaction, row: NewRow<T>) => {
    const given = row as Readonly<Record<string, Value>>
    return written.map((name, at) => given[name] ?? (initials[at] === now ? tx.now : ((initials[at] as Value) ?? null)))
  }
  const touched = [
    ...('updatedAt' in fields ? ['updated_at = ?'] : []),
    ...('version' in fields ? [`version = version + 1`] : []),
  ]
  return {
    fields,
    columns: columnsOf(Object.keys(fields)),
    columnsOf,
    jsonOf: (names, ids, instead = {}) =>
      `json_object(${names.map(name => `'${name}', ${instead[name] ?? jsonValue(fields[name]!.kind, sqlOf(name), ids)}`).join(', ')})`,
    insert: async (tx, row) => (await tx.run(insert, valuesOf(tx, row))).lastId,
    update: (tx, id, change) => {
      const values: Value[] = []
      const assignments: string[] = []
      for (const [name, value] of Object.entries(change)) {
        assignments.push(`${columns.get(name)!} = ?`)
        values.push(value as Value)
      }
      if ('updatedAt' in fields) values.push(tx.now)
      const all = [...assignments, ...touched]
      if (all.length > 0) tx.enqueue(`UPDATE ${table} SET ${all.join(', ')} WHERE id = ?`, [...values, id])
    },
  }
}

/** The names of an object schema's entries, which are the fields that a view shows, in order. */
export const entriesOf = <Name extends string>(schema: { readonly entries: Readonly<Record<Name, unknown>> }): Name[] =>
  Object.keys(schema.entries) as Name[]

/** SQL of a JSON boolean: true for any value other than 0. The engine converts a constant to JSON once, not once per row. */
const jsonFlag = (sql: string): string => `iif(${sql}, json('true'), json('false'))`

function jsonValue(kind: Kind, sql: string, ids: 'text' | 'integer'): string {
  if (kind === 'flag') return jsonFlag(sql)
  if (kind === 'json') return `json(${sql})`
  return kind === 'id' && ids === 'text' ? `cast(${sql} AS TEXT)` : sql
}

const snakeCase = (name: string) => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
