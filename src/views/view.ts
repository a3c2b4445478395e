import { templateOf } from './template.ts'
import type { Fields, Kind, Row, ShownField } from '../store/engine/record.ts'

/**
 * The fields of a record that a schema's entries show. A field that neither the record nor `overrides` has becomes `unknown`,
 * which the compiler rejects in a view.
 */
type View<T extends Fields, Entries, Ids extends 'text' | 'integer', I> = {
  -readonly [Name in keyof Entries]: Name extends keyof I
    ? I[Name]
    : Name extends keyof T
      ? ShownField<T[Name], Ids>
      : unknown
}

/**
 * Creates a view of a record: the fields that a schema of the contract names, in its order. `overrides` computes the fields that
 * differ from their stored form.
 * Each view is a copy of a template and keeps its hidden class (measured, a card: 1.5 µs, against 0.9 for a literal with
 * Object.assign, and 15 for a literal after a spread).
 */
export function viewOf<
  T extends Fields,
  Entries extends object,
  Ids extends 'text' | 'integer',
  R extends Row<T> = Row<T>,
  I extends object = object,
>(
  fields: T,
  schema: { readonly entries: Entries },
  ids: Ids,
  overrides?: (row: R) => I,
): (row: R) => View<T, Entries, Ids, I> {
  const names = Object.keys(schema.entries)
  const template = templateOf(names)
  const shown = names.filter(name => name in fields)
  const converters = shown.map(name => converter(fields[name]!.kind, ids))
  return row => {
    const view: Record<string, unknown> = { ...template }
    for (let at = 0; at < shown.length; at++) {
      const name = shown[at]!
      const convert = converters[at]
      view[name] = convert === undefined ? row[name] : convert(row[name])
    }
    if (overrides) Object.assign(view, overrides(row))
    return view as View<T, Entries, Ids, I>
  }
}

function converter(kind: Kind, ids: 'text' | 'integer'): ((stored: unknown) => unknown) | undefined {
  if (kind === 'flag') return stored => stored === 1
  if (kind === 'json') return stored => (typeof stored === 'string' ? JSON.parse(stored) : null)
  return kind === 'id' && ids === 'text' ? stored => (stored === null ? null : String(stored)) : undefined
}
