import type { CardSource } from '../../contract/cardRecords.ts'
import { maxAssignees } from '../../contract/cardPlan.ts'
import { maxComments } from '../../contract/comments.ts'
import { isVisible, startsWithDay, type ColumnType } from '../../contract/fields.ts'

/** Where cards of another program stand: a list of its own by name, or all that are to be done or are done. */
export interface DraftColumn {
  /** What `map` calls it. */
  key: string
  /** The column that it is looked for by its name; without one, by its type. */
  name: string | undefined
  columnType: ColumnType
}
export interface DraftCard {
  column: DraftColumn
  /** Where it comes from. Undefined if its entry has no ID. */
  source: CardSource | undefined
  title: string
  prompt: string
  labels: string[]
  /** Names: who they are here is not known. */
  assignees: string[]
  dueAt?: string
  creatorName?: string
  comments: DraftComment[]
  isArchived: boolean
  createdAt?: string
  updatedAt?: string
  doneAt?: string
}
interface DraftComment {
  authorName: string
  body: string
  createdAt?: string
}

/** What is read from another program's file, in the order in which it is to stand. */
export interface Draft {
  name: string | undefined
  columns: readonly DraftColumn[]
  cards: readonly DraftCard[]
  warnings: readonly string[]
}

const maxTitleLength = 500
const maxTextBytes = 65_536
const maxNameLength = 200
const maxLabels = 50
const maxLabelLength = 100

/** Counts what has no place here, and says each thing once. */
export class Warnings {
  readonly #counts = new Map<string, number>()

  count(what: string, by = 1): void {
    if (by > 0) this.#counts.set(what, (this.#counts.get(what) ?? 0) + by)
  }

  list(): string[] {
    return [...this.#counts].map(([what, count]) => `${what}: ${count}.`)
  }
}

export interface Text {
  title: unknown
  sections: readonly string[]
  labels: readonly unknown[]
  assignees?: readonly unknown[]
  /** Oldest first. */
  comments?: ReadonlyArray<{ authorName: unknown; body: unknown; createdAt: unknown }>
}

/** Fits texts of any length into a card. What does not fit into the title stands in the prompt. */
export function fit(
  { title, sections, labels, assignees = [], comments = [] }: Text,
  warnings: Warnings,
): Pick<DraftCard, 'title' | 'prompt' | 'labels' | 'assignees' | 'comments'> {
  const cleaned = clean(title).replace(/\s+/g, ' ').trim()
  const whole = isVisible(cleaned) ? cleaned : 'Untitled'
  const short =
    whole.length <= maxTitleLength
      ? whole
      : `${whole
          .slice(0, maxTitleLength - 1)
          .toWellFormed()
          .replace(/\ufffd$/, '')}…`
  warnings.count('Titles of more than 500 characters, whole in the prompt', short === whole ? 0 : 1)
  const prompt = [...(short === whole ? [] : [whole]), ...sections.map(section => clean(section).trim())]
    .filter(Boolean)
    .join('\n\n')
  const names = [
    ...new Set(
      labels
        .map(label => clean(label).trim())
        .filter(Boolean)
        .map(label => label.slice(0, maxLabelLength).toWellFormed()),
    ),
  ]
  warnings.count('Labels beyond 50 on a card, left out', Math.max(0, names.length - maxLabels))
  return {
    title: short,
    prompt: cut(prompt, 'Prompts of more than 64 KiB, cut', '[The rest did not fit into a prompt.]', warnings),
    labels: names.slice(0, maxLabels),
    assignees: fitAssignees(assignees, warnings),
    comments: fitComments(comments, warnings),
  }
}

function fitAssignees(assignees: readonly unknown[], warnings: Warnings): string[] {
  const names = [...new Set(assignees.map(nameOf).filter(isVisible))]
  warnings.count(`Assignees beyond ${maxAssignees} on a card, left out`, Math.max(0, names.length - maxAssignees))
  return names.slice(0, maxAssignees)
}

/** The newest comments, if there are too many. */
function fitComments(comments: NonNullable<Text['comments']>, warnings: Warnings): DraftComment[] {
  const written = comments.flatMap(({ authorName, body, createdAt }) => {
    const text = clean(body).trim()
    warnings.count('Comments without text, left out', isVisible(text) ? 0 : 1)
    const note = '[The rest did not fit into a comment.]'
    const fitting = isVisible(text) ? [cut(text, 'Comments of more than 64 KiB, cut', note, warnings)] : []
    return fitting.map(body => ({
      authorName: nameOf(authorName) || 'Unknown author',
      body,
      createdAt: time(createdAt),
    }))
  })
  warnings.count(`Comments beyond ${maxComments} on a card, left out`, Math.max(0, written.length - maxComments))
  return written.slice(-maxComments)
}

/** Somebody's name as the board can keep it. */
export const nameOf = (value: unknown): string =>
  clean(value).replace(/\s+/g, ' ').trim().slice(0, maxNameLength).toWellFormed()

function cut(text: string, warning: string, note: string, warnings: Warnings): string {
  if (Buffer.byteLength(text) <= maxTextBytes) return text
  warnings.count(warning)
  const bytes = Buffer.from(text).subarray(0, maxTextBytes - note.length - 6)
  return `${bytes.toString().replace(/\ufffd+$/, '')}\n\n${note}`
}

/** Text as the board can keep it. */
export const clean = (value: unknown): string =>
  typeof value === 'string' ? value.replaceAll('\0', '').replace(/\r\n?/g, '\n').toWellFormed() : ''

/** A time in the form in which the board keeps it. */
export function time(value: unknown): string | undefined {
  const isReal = typeof value === 'string' && (startsWithDay(value) || !/^\d{4}-/.test(value))
  const at = isReal ? Date.parse(value) : NaN
  return Number.isNaN(at) || at < 0 || at > 253_402_300_799_999 ? undefined : new Date(at).toISOString()
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
