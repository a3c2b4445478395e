import { maxAssignees } from '../../contract/cards/cardPlan.ts'
import { maxComments } from '../../contract/cards/comments.ts'
import { isVisible, startsWithDay } from '../../contract/fields.ts'

const maxTitleLength = 500
const maxTextBytes = 65_536
const maxNameLength = 200
const maxLabels = 50
const maxLabelLength = 100

interface FittedComment {
  authorName: string
  body: string
  createdAt?: string
}

/** Counts the content that does not fit into a card, and lists each kind once. */
export class Warnings {
  readonly #counts = new Map<string, number>()

  count(what: string, by = 1): void {
    if (by > 0) this.#counts.set(what, (this.#counts.get(what) ?? 0) + by)
  }

  list(): string[] {
    return [...this.#counts].map(([what, count]) => `${what}: ${count}.`)
  }
}

/** Texts of another program, of any length. */
export interface ForeignTexts {
  title: unknown
  sections: readonly string[]
  labels: readonly unknown[]
  assignees?: readonly unknown[]
  /** Oldest first. */
  comments?: ReadonlyArray<{ authorName: unknown; body: unknown; createdAt: unknown }>
}

/** Texts within the limits of a card. */
export interface FittedTexts {
  title: string
  prompt: string
  labels: string[]
  /** Names, which identify no user of the board. */
  assignees: string[]
  comments: FittedComment[]
}

/** Fits texts of any length into a card. If a title is too long, the prompt contains the whole title. */
export function fitCardTexts(
  { title, sections, labels, assignees = [], comments = [] }: ForeignTexts,
  warnings: Warnings,
): FittedTexts {
  const cleaned = toStorableText(title).replace(/\s+/g, ' ').trim()
  const whole = isVisible(cleaned) ? cleaned : 'Untitled'
  const short =
    whole.length <= maxTitleLength
      ? whole
      : `${whole
          .slice(0, maxTitleLength - 1)
          .toWellFormed()
          .replace(/\ufffd$/, '')}…`
  warnings.count('Shortened titles of more than 500 characters, complete in the prompts', short === whole ? 0 : 1)
  const prompt = [...(short === whole ? [] : [whole]), ...sections.map(section => toStorableText(section).trim())]
    .filter(Boolean)
    .join('\n\n')
  const names = [
    ...new Set(
      labels
        .map(label => toStorableText(label).trim())
        .filter(Boolean)
        .map(label => label.slice(0, maxLabelLength).toWellFormed()),
    ),
  ]
  warnings.count('Skipped labels beyond 50 per card', Math.max(0, names.length - maxLabels))
  return {
    title: short,
    prompt: truncateText(
      prompt,
      'Truncated prompts of more than 64 KiB',
      '[The rest did not fit into a prompt.]',
      warnings,
    ),
    labels: names.slice(0, maxLabels),
    assignees: fitAssignees(assignees, warnings),
    comments: fitComments(comments, warnings),
  }
}

function fitAssignees(assignees: readonly unknown[], warnings: Warnings): string[] {
  const names = [...new Set(assignees.map(nameOf).filter(isVisible))]
  warnings.count(`Skipped assignees beyond ${maxAssignees} per card`, Math.max(0, names.length - maxAssignees))
  return names.slice(0, maxAssignees)
}

/** The newest comments, if there are too many. */
function fitComments(comments: NonNullable<ForeignTexts['comments']>, warnings: Warnings): FittedComment[] {
  const written = comments.flatMap(({ authorName, body, createdAt }) => {
    const text = toStorableText(body).trim()
    warnings.count('Skipped comments without text', isVisible(text) ? 0 : 1)
    const note = '[The rest did not fit into a comment.]'
    const fitting = isVisible(text)
      ? [truncateText(text, 'Truncated comments of more than 64 KiB', note, warnings)]
      : []
    return fitting.map(body => ({
      authorName: nameOf(authorName) || 'Unknown author',
      body,
      createdAt: toStorableTime(createdAt),
    }))
  })
  warnings.count(`Skipped older comments beyond ${maxComments} per card`, Math.max(0, written.length - maxComments))
  return written.slice(-maxComments)
}

/** A person's name, shortened to the board's limit. */
export const nameOf = (value: unknown): string =>
  toStorableText(value).replace(/\s+/g, ' ').trim().slice(0, maxNameLength).toWellFormed()

function truncateText(text: string, warning: string, note: string, warnings: Warnings): string {
  if (Buffer.byteLength(text) <= maxTextBytes) return text
  warnings.count(warning)
  const bytes = Buffer.from(text).subarray(0, maxTextBytes - note.length - 6)
  return `${bytes.toString().replace(/\ufffd+$/, '')}\n\n${note}`
}

/** Text that the board can store: well-formed, without NUL. */
export const toStorableText = (value: unknown): string =>
  typeof value === 'string' ? value.replaceAll('\0', '').replace(/\r\n?/g, '\n').toWellFormed() : ''

/** A time in the board's form. */
export function toStorableTime(value: unknown): string | undefined {
  const isReal = typeof value === 'string' && (startsWithDay(value) || !/^\d{4}-/.test(value))
  const at = isReal ? Date.parse(value) : NaN
  return Number.isNaN(at) || at < 0 || at > 253_402_300_799_999 ? undefined : new Date(at).toISOString()
}
