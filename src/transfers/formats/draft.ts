import type { CardSource } from '../../contract/cards/cardRecords.ts'
import type { ColumnType } from '../../contract/fields.ts'
import type { FittedTexts } from '../../domain/cards/fitCardTexts.ts'

/** The column of another program's cards: a list by name, or all open or all done cards. */
export interface DraftColumn {
  /** The name of the column in `map`. */
  key: string
  /** The name of the column. If undefined, the column is found by its type. */
  name: string | undefined
  columnType: ColumnType
}
export interface DraftCard extends FittedTexts {
  column: DraftColumn
  /** The origin of the card. Undefined if its entry has no ID. */
  source: CardSource | undefined
  dueAt?: string
  creatorName?: string
  isArchived: boolean
  createdAt?: string
  updatedAt?: string
  doneAt?: string
}
/** The content of another program's file, in the order of the board. */
export interface Draft {
  name: string | undefined
  columns: readonly DraftColumn[]
  cards: readonly DraftCard[]
  warnings: readonly string[]
}

const doneNames =
  /^(?:done|completed|finished|shipped)\b|^(?:all |recently )?(?:done|complete|completed|finished|closed|shipped|released|deployed|resolved|merged)(?: tasks| items| cards| issues)?$/
const activeNames =
  /\b(doing|progress|wip|working|active|review|reviewing|testing|qa|implement|implementing|building)\b/
const archiveNames = /^archived?(?: tasks| items| cards| \d+)?$/

/** A list's name in lower case without decoration: "✅ Done (5)" is "done". */
export const bareName = (name: string): string =>
  name
    .toLowerCase()
    .replace(/\(\d+\)/g, ' ')
    .replace(/[^\p{L}\p{M}\p{N}+#]+/gu, ' ')
    .trim()

/** The column type that a list's name suggests. Agents never start in a list with an unknown name. */
export function typeOf(name: string): ColumnType {
  const bare = bareName(name)
  if (doneNames.test(bare)) return 'done'
  if (archiveNames.test(bare)) return 'archive'
  return activeNames.test(bare) ? 'active' : 'backlog'
}

export type Entry = Record<string, unknown>
export const record = (value: unknown): Entry =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Entry) : {}
export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
