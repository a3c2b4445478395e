import type { DiffFile, DiffLine } from '../../../src/contract/forges/diffFiles.ts'
import type { DraftComment, FileLines, OpenForm } from './reviewDraft.ts'
import type { Review, ReviewComment } from './reviewStore.ts'

/** A row of a file's table: one line, or in a split diff the removed line and the line that replaces it. */
export interface Row {
  hunk: number
  left: DiffLine | undefined
  right: DiffLine | undefined
}
export type Side = 'old' | 'new'

/** All rows of a file, hunk after hunk. */
export const rowsOf = ({ hunks }: DiffFile, isSplit: boolean): Row[] =>
  hunks.flatMap(({ lines }, hunk) =>
    lines.flatMap((line): Row[] => {
      if (line.kind === 'same') return [{ hunk, left: line, right: line }]
      if (!isSplit || !line.pair)
        return [line.kind === 'added' ? { hunk, left: undefined, right: line } : { hunk, left: line, right: undefined }]
      return line.kind === 'removed' ? [{ hunk, left: line, right: line.pair }] : []
    }),
  )

export const lineAt = (row: Row | undefined, side: Side): number | undefined =>
  side === 'old' ? row?.left?.old : row?.right?.new

/** The selected rows, on one side. `from` is where the selection started, which can be after `to`. */
export interface Chosen {
  from: number
  to: number
  side: Side
}

export const isChosen = (chosen: Chosen | undefined, row: number): boolean =>
  chosen !== undefined && row >= Math.min(chosen.from, chosen.to) && row <= Math.max(chosen.from, chosen.to)

/**
 * Returns the line numbers of the selected rows, for a comment. Undefined if the rows have no line on that side.
 */
export function linesOf(file: DiffFile, rows: readonly Row[], { from, to, side }: Chosen): FileLines | undefined {
  const chosen = rows.slice(Math.min(from, to), Math.max(from, to) + 1)
  const numbers = chosen.flatMap(row => (row.hunk === rows[to]!.hunk ? (lineAt(row, side) ?? []) : []))
  const [first, last] = [numbers[0], numbers.at(-1)]
  if (first === undefined || last === undefined) return undefined
  return {
    path: side === 'old' ? file.oldPath : file.path,
    side,
    startLine: first === last ? null : first,
    line: last,
  }
}

/** A note below a line. */
export type Note =
  | { kind: 'thread'; review: Review; comment: ReviewComment }
  | { kind: 'draft'; comment: DraftComment }
  | { kind: 'form'; form: OpenForm }

/** The notes of a file by side and line number, and the comments on outdated lines. */
export interface Notes {
  at: ReadonlyMap<string, readonly Note[]>
  outdated: readonly Note[]
}
export const noteKey = (side: Side, line: number): string => `${side}:${line}`

interface FileComments {
  /** The repository of the file. */
  repository: string
  reviews: readonly Review[]
  comments: readonly DraftComment[]
  form: OpenForm | undefined
}

/** Finds the lines of a file that comments refer to: by number if the text of the line is unchanged, otherwise by text. */
export function notesOf(file: DiffFile, { repository, reviews, comments, form }: FileComments): Notes {
  const isOf = (subject: { repository: string; path: string }): boolean =>
    subject.repository === repository && (subject.path === file.path || subject.path === file.oldPath)
  const at = new Map<string, Note[]>()
  const outdated: Note[] = []
  const placeNote = (key: string | undefined, note: Note) => {
    if (key === undefined) outdated.push(note)
    else at.set(key, [...(at.get(key) ?? []), note])
  }
  let texts: Map<string, string> | undefined
  for (const review of reviews)
    for (const comment of review.comments)
      if (isOf(comment)) placeNote(keyOf((texts ??= textsOf(file)), comment), { kind: 'thread', review, comment })
  for (const comment of comments)
    if (isOf(comment) && comment !== form?.replaces) {
      const key = noteKey(comment.side, comment.line)
      placeNote((texts ??= textsOf(file)).has(key) ? key : undefined, { kind: 'draft', comment })
    }
  if (form && isOf(form)) placeNote(noteKey(form.side, form.line), { kind: 'form', form })
  return { at, outdated }
}

function textsOf({ hunks }: DiffFile): Map<string, string> {
  const texts = new Map<string, string>()
  for (const { lines } of hunks)
    for (const line of lines) {
      if (line.old !== undefined) texts.set(noteKey('old', line.old), line.text)
      if (line.new !== undefined) texts.set(noteKey('new', line.new), line.text)
    }
  return texts
}

function keyOf(texts: ReadonlyMap<string, string>, { side, line, text }: ReviewComment): string | undefined {
  const last = text.slice(text.lastIndexOf('\n') + 1)
  // In a diff since a review, lines that were new then are on the old side.
  for (const key of [noteKey(side, line), noteKey(side === 'old' ? 'new' : 'old', line)])
    if (texts.get(key) === last) return key
  const same = last.trim() === '' ? [] : [...texts].filter(([key, each]) => each === last && key.startsWith(side))
  return same.length === 1 ? same[0]![0] : undefined
}
