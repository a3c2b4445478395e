import { Option, type Command } from 'commander'
import { count } from '../parsing/arguments.ts'
import type { Out } from '../output/output.ts'
import type { Column } from '../output/table.ts'

export interface NewestOptions {
  limit: number
  all?: boolean
}
interface Page<Row> {
  items: Row[]
  nextCursor: string | null
}

/** Adds `--limit` and `--all` to a list that comes newest first. */
export const addNewestOptions = (command: Command, usual: number, noun: string): Command =>
  command
    .addOption(new Option('--limit <number>', 'maximum number of results').argParser(count).default(usual))
    .addOption(new Option('--all', `show all ${noun}`).conflicts('limit'))

/** Prints a list in pages with cursors, newest first. A short page is not necessarily the last one. Warns if there is more. */
export async function printNewest<Row>(
  out: Out,
  options: NewestOptions,
  page: (asked: { cursor?: number; limit: number }) => Promise<Page<Row>>,
  columns: readonly Column<Row>[],
  noun: { one: string; many: string },
): Promise<void> {
  const { found, isWhole } = await readNewest(options, page)
  await out.list(found, columns, { empty: `No ${noun.many}.` })
  if (!isWhole)
    out.warn(`there are more ${noun.many}; these are the newest ${found.length}. --all lists every ${noun.one}`)
}

/** Reads a list, newest first, up to the requested limit. `isWhole` is false if there is more. */
export async function readNewest<Row>(
  { limit, all }: NewestOptions,
  page: (asked: { cursor?: number; limit: number }) => Promise<Page<Row>>,
): Promise<{ found: Row[]; isWhole: boolean }> {
  const maxItems = all ? Infinity : limit
  const found: Row[] = []
  let cursor: number | undefined
  do {
    const { items, nextCursor } = await page({ cursor, limit: Math.min(pageSize, maxItems - found.length) })
    found.push(...items)
    cursor = nextCursor === null ? undefined : Number(nextCursor)
  } while (cursor !== undefined && found.length < maxItems)
  return { found, isWhole: cursor === undefined }
}

const pageSize = 200
