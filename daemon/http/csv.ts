import type { IncomingHttpHeaders } from 'node:http'
import type { GenericSchema } from 'valibot'
import { toCsv } from '../../src/contract/projects/csv.ts'
import type { Route } from '../../src/contract/route.ts'
import type { Answer, Headers } from './response.ts'

/** Returns whether to answer a row as CSV: the row supports it, and the client requests it. */
export const wantsCsv = ({ csv }: Route, { accept }: IncomingHttpHeaders): boolean =>
  csv === true && accept !== undefined && /(?:^|[\s,])text\/csv\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(accept)

/** A list as CSV, with the fields of its row's output in their order. */
export function presentCsv({ output, status }: Route, rows: readonly object[], headers: Headers): Answer {
  headers['content-type'] = 'text/csv; charset=utf-8; header=present'
  return { status, headers, text: toCsv(fieldsOf(output), rows) }
}

const fieldsOf = (output: GenericSchema | undefined): string[] =>
  Object.keys((output as unknown as { item: { entries: object } }).item.entries)
