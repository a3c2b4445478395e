import { usage } from '../failures/failure.ts'

/** A comment in the format of a review draft. */
export interface CommentInput {
  repository?: string
  path: string
  side?: 'old' | 'new'
  startLine?: number | null
  line: number
  body: string
}

/** Parses a line or a line range: 12, or 12-15. @throws Failure (usage) */
export function readLines(text: string): Pick<CommentInput, 'startLine' | 'line'> {
  const [, first, last] = /^([1-9]\d{0,7})(?:-([1-9]\d{0,7}))?$/.exec(text) ?? []
  if (first === undefined || (last !== undefined && Number(last) < Number(first)))
    throw usage(`--line must be a line or a range, not "${text}"`, { hint: 'for example: --line 12, or --line 12-15' })
  return last === undefined ? { line: Number(first) } : { startLine: Number(first), line: Number(last) }
}

/**
 * Parses review comments from a file: one per line, `path:line: text` as compilers and linters print them, or JSON with the fields of a
 * comment. Skips the problem count at the end of a linter's output.
 * @throws Failure (usage) with the line of the file that cannot be parsed
 */
export function readComments(text: string, name: string): CommentInput[] {
  return text.split('\n').flatMap((raw, at) => {
    const line = raw.trim()
    if (line === '' || /^\d+ problems?$/.test(line)) return []
    const comment = line.startsWith('{') ? fromJson(line) : fromWords(line)
    if (comment) return [comment]
    throw usage(`-F ${name}, line ${at + 1} is not a comment`, {
      hint: 'for example: src/a.ts:12-15: Why twice? or {"path": "src/a.ts", "line": 12, "body": "Why twice?"}',
    })
  })
}

function fromWords(line: string): CommentInput | undefined {
  const [, path, lines, body] = /^(.+?):(\d+(?:-\d+)?)(?::\d+)?:\s+(.*\S)\s*$/.exec(line) ?? []
  return path === undefined ? undefined : { path, ...readLines(lines!), body: body! }
}

function fromJson(line: string): CommentInput | undefined {
  try {
    const { repository, path, side, startLine, line: last, body } = JSON.parse(line) as Partial<CommentInput>
    if (typeof path !== 'string' || typeof last !== 'number' || typeof body !== 'string') return undefined
    return {
      path,
      line: last,
      body,
      ...(side && { side }),
      ...(startLine && { startLine }),
      ...(repository && { repository }),
    }
  } catch {
    return undefined
  }
}
