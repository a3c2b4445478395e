import { escapeControls } from './text.ts'
import type { Color } from './terminal.ts'

export interface FileChange {
  path: string
  insertions: number
  deletions: number
}
type Kind = 'file' | 'head' | 'hunk' | 'added' | 'removed' | 'same'
export interface DiffLine {
  text: string
  kind: Kind
}

const colors: Record<Kind, Color | undefined> = {
  file: 'bold',
  head: 'bold',
  hunk: 'cyan',
  added: 'green',
  removed: 'red',
  same: undefined,
}

/** A unified diff in colors for a terminal, with its control characters escaped. */
export const coloredDiff = (diff: string, paint: (text: string, color: Color) => string): string =>
  [...diffLines(diff)]
    .map(({ text, kind }) => {
      const color = colors[kind]
      const shown = escapeControls(text, true)
      return `${color ? paint(shown, color) : shown}\n`
    })
    .join('')

/** The files that a diff of Git changes, with their line counts; binary files count 0. */
export function changesOf(diff: string): FileChange[] {
  const changes: FileChange[] = []
  for (const { text, kind } of diffLines(diff)) {
    const change = changes.at(-1)
    if (kind === 'file') changes.push({ path: pathOfBoth(text), insertions: 0, deletions: 0 })
    else if (!change) continue
    else if (kind === 'added') change.insertions++
    else if (kind === 'removed') change.deletions++
    else if (kind === 'head') change.path = pathIn(text) ?? change.path
  }
  return changes
}

/**
 * Classifies the lines of a diff. The counts in a hunk header determine its end, because a removed line `-- a` looks like the
 * header `--- a`.
 */
export function* diffLines(diff: string): Generator<DiffLine> {
  let before = 0
  let after = 0
  for (const text of diff.replace(/\n$/, '').split('\n')) {
    const kind = before > 0 || after > 0 ? kindInHunk(text) : kindOutsideHunk(text)
    if (kind === 'hunk') [before, after] = countsOf(text)
    if (kind === 'removed' || (kind === 'same' && !text.startsWith('\\'))) before--
    if (kind === 'added' || (kind === 'same' && !text.startsWith('\\'))) after--
    if (diff !== '') yield { text, kind }
  }
}

const kindInHunk = (text: string): Kind => (text.startsWith('+') ? 'added' : text.startsWith('-') ? 'removed' : 'same')
const kindOutsideHunk = (text: string): Kind =>
  text.startsWith('diff --git ') ? 'file' : text.startsWith('@@ ') ? 'hunk' : text.startsWith('\\') ? 'same' : 'head'

function countsOf(text: string): [number, number] {
  const [, before, after] = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(text) ?? []
  return [Number(before ?? 1), Number(after ?? 1)]
}

/** The path in `diff --git a/x b/x`, assuming that both are the same; the lines of a rename correct it. */
function pathOfBoth(text: string): string {
  const names = text.slice('diff --git '.length)
  return stripPrefix(names.slice((names.length + 1) / 2))
}

function pathIn(text: string): string | undefined {
  const [, name] = /^(?:\+\+\+ |--- |rename to |copy to )(.*?)\t?$/.exec(text) ?? []
  if (name === undefined || name === '/dev/null') return undefined
  return text.startsWith('rename') || text.startsWith('copy') ? name : stripPrefix(name)
}

const stripPrefix = (name: string): string => name.replace(/^("?)[ab]\//, '$1')
