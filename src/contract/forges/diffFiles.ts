import { decodeName, shownName } from '../cards/fileNames.ts'

/**
 * A line of a diff with its numbers before and after the change. An added line has no number before, a removed line none after.
 */
export interface DiffLine {
  kind: 'same' | 'added' | 'removed'
  text: string
  old: number | undefined
  new: number | undefined
  /** The file ends with this line, without a line break. */
  isUnended?: boolean
  /** The corresponding line on the other side of the change. */
  pair?: DiffLine
}
/** Consecutive lines. `heading` is the surrounding context, such as a function, that Git found. */
interface DiffHunk {
  heading: string
  oldStart: number
  newStart: number
  lines: DiffLine[]
}
/** A file in a diff. Paths are not quoted as in Git's output. */
export interface DiffFile {
  /** The current path, or that of a deleted file. */
  path: string
  oldPath: string
  status: 'modified' | 'added' | 'deleted' | 'renamed' | 'copied'
  oldMode: string | undefined
  newMode: string | undefined
  isBinary: boolean
  insertions: number
  deletions: number
  hunks: DiffHunk[]
  /** Differs when the contents do. */
  contents: string
}

const hunkHead = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)/s

/**
 * Parses a unified diff of Git. The counts in a hunk's header determine its end, because a removed line `-- a` looks like a
 * file's header.
 */
export function diffFiles(diff: string): DiffFile[] {
  const files: DiffFile[] = []
  let hunk: DiffHunk | undefined
  let [old, oldLeft, after, newLeft] = [0, 0, 0, 0]
  for (const line of diff.replace(/\n$/, '').split('\n')) {
    const file = files.at(-1)
    if (file && hunk && (oldLeft > 0 || newLeft > 0) && line[0] !== '\\') {
      const read = lineOf(line, old, after)
      hunk.lines.push(read)
      if (read.kind !== 'added') [old, oldLeft] = [old + 1, oldLeft - 1]
      if (read.kind !== 'removed') [after, newLeft] = [after + 1, newLeft - 1]
      if (read.kind === 'added') file.insertions++
      if (read.kind === 'removed') file.deletions++
    } else if (line.startsWith('diff --git ')) {
      files.push(startOf(line))
      hunk = undefined
    } else if (line[0] === '\\') {
      const last = hunk?.lines.at(-1)
      if (last) last.isUnended = true
    } else if (file) {
      const head = hunkHead.exec(line)
      if (!head) readHeader(file, line)
      else {
        ;[old, oldLeft, after, newLeft] = [1, 2, 3, 4].map(at => Number(head[at] ?? 1)) as Four
        hunk = { heading: head[5]!, oldStart: old, newStart: after, lines: [] }
        file.hunks.push(hunk)
      }
    }
  }
  for (const { hunks } of files) for (const { lines } of hunks) pairLines(lines)
  return files
}
type Four = [number, number, number, number]

function lineOf(line: string, old: number, after: number): DiffLine {
  const text = line.slice(1)
  if (line[0] === '+') return { kind: 'added', text, old: undefined, new: after }
  if (line[0] === '-') return { kind: 'removed', text, old, new: undefined }
  return { kind: 'same', text, old, new: after }
}

/** Pairs removed lines one by one with the lines added in their place. */
function pairLines(lines: readonly DiffLine[]): void {
  let removed: DiffLine[] = []
  let at = 0
  for (const line of lines) {
    if (line.kind === 'same' || (line.kind === 'removed' && at > 0)) [removed, at] = [[], 0]
    if (line.kind === 'removed') removed.push(line)
    const pair = line.kind === 'added' ? removed[at++] : undefined
    if (pair) [line.pair, pair.pair] = [pair, line]
  }
}

/** A file for which only `diff --git a/x b/x` has been read: both names are equal unless later lines differ. */
function startOf(line: string): DiffFile {
  const names = line.slice('diff --git '.length)
  const path = unquote(names.slice((names.length + 1) / 2)).slice('b/'.length)
  return {
    path,
    oldPath: path,
    status: 'modified',
    oldMode: undefined,
    newMode: undefined,
    isBinary: false,
    insertions: 0,
    deletions: 0,
    hunks: [],
    contents: '',
  }
}

function readHeader(file: DiffFile, line: string): void {
  const [, head, rest = ''] =
    /^(--- |\+\+\+ |rename from |rename to |copy from |copy to |old mode |new mode |new file mode |deleted file mode |index |Binary files )(.*)$/s.exec(
      line,
    ) ?? []
  const name = unquote(rest.replace(/\t$/, ''))
  if (head === '--- ' && name !== '/dev/null') file.oldPath = name.slice('a/'.length)
  if (head === '--- ' && file.status === 'deleted') file.path = file.oldPath
  if (head === '+++ ' && name !== '/dev/null') file.path = name.slice('b/'.length)
  if (head === 'rename from ' || head === 'copy from ') file.oldPath = name
  if (head === 'rename to ' || head === 'copy to ') {
    file.path = name
    file.status = head === 'copy to ' ? 'copied' : 'renamed'
  }
  if (head === 'new file mode ') [file.status, file.newMode] = ['added', rest]
  if (head === 'deleted file mode ') [file.status, file.oldMode] = ['deleted', rest]
  if (head === 'old mode ') file.oldMode = rest
  if (head === 'new mode ') file.newMode = rest
  if (head === 'index ') file.contents = rest
  if (head === 'Binary files ') file.isBinary = true
}

const escapes: Record<string, number> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, '\\': 92 }

/** Returns a path without Git's quoting, which follows C for quotes, backslashes and control characters. */
function unquote(name: string): string {
  if (!/^".*"$/s.test(name)) return name
  const encoder = new TextEncoder()
  const bytes = [...name.slice(1, -1).matchAll(/\\([0-7]{3}|.)|[^\\]+/gs)].flatMap(([text, escaped]) =>
    escaped === undefined
      ? [...encoder.encode(text)]
      : [escaped.length === 3 ? parseInt(escaped, 8) : (escapes[escaped] ?? 0)],
  )
  return shownName(decodeName(Uint8Array.from(bytes)))
}
