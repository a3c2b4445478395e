import type { CardSource } from '../../contract/cardRecords.ts'
import type { ColumnType } from '../../contract/fields.ts'
import type { FittedTexts } from '../../domain/fitCardTexts.ts'

/** Where cards of another program stand: a list of its own by name, or all that are to be done or are done. */
export interface DraftColumn {
  /** What `map` calls it. */
  key: string
  /** The column that it is looked for by its name; without one, by its type. */
  name: string | undefined
  columnType: ColumnType
}
export interface DraftCard extends FittedTexts {
  column: DraftColumn
  /** Where it comes from. Undefined if its entry has no ID. */
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

/** A list's name in lower case without what decorates it: "✅ Done (5)" is "done". */
export const bareName = (name: string): string =>
  name
    .toLowerCase()
    .replace(/\(\d+\)/g, ' ')
    .replace(/[^\p{L}\p{M}\p{N}+#]+/gu, ' ')
    .trim()

/** What a list is for, by its name. An unknown name is no reason to start agents there. */
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
