import type { ShownColumn } from '../../../src/boardModel/shownBoard.ts'
import { widthOf } from '../../output/text.ts'

/** `12`, `3/5` with a limit of 5, `3/12` with a filter, `+` while there are more to read. */
export function countOf({ found, ids, total, wipLimit }: ShownColumn): string {
  const all = wipLimit === null ? groupDigits(total) : `${groupDigits(total)}/${groupDigits(wipLimit)}`
  if (found.length === ids.length) return all
  return `${groupDigits(found.length)}${ids.length < total ? '+' : ''}${wipLimit === null ? '/' : ' of '}${all}`
}

/** 12,345. Not Intl, which takes milliseconds to load. */
export const groupDigits = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ',')

/** A column's name and count in the tab bar of a narrow screen. */
export const tabText = (column: ShownColumn): [name: string, count: string] => [
  ` ${column.name} `,
  `${countOf(column)} `,
]

const tabWidth = (column: ShownColumn): number => tabText(column).reduce((sum, text) => sum + widthOf(text), 0)

/** The first visible tab, so that as many tabs as possible before the tab `at` are visible. */
export function firstTab(columns: readonly ShownColumn[], at: number, width: number): number {
  let from = at
  let used = columns[at] ? tabWidth(columns[at]) : 0
  while (from > 0 && used + tabWidth(columns[from - 1]!) < width * 0.6) used += tabWidth(columns[--from]!)
  return from
}

/** The column of the tab in a cell. A sign before the first one marks hidden tabs. */
export function tabAt(columns: readonly ShownColumn[], at: number, width: number, x: number): ShownColumn | undefined {
  const from = firstTab(columns, at, width)
  let left = from > 0 ? 1 : 0
  if (x < left) return columns[from - 1]
  return columns.slice(from).find(column => x < (left += tabWidth(column)))
}
