import type { Message } from '../../../src/boardModel/openedCard.ts'
import { plainText } from '../ui/plainText.ts'

/** A file before and after a call. */
export interface FileChange {
  path: string
  before: string
  after: string
}

/** The input and output of a tool call as text. */
export interface ToolTexts {
  input: string
  output: string
  diffs: readonly FileChange[]
  files: readonly string[]
}

/** Splits a tool call into parts. Agents send values of any shape: unknown values are shown as JSON. */
export function toolTexts({ input, output, locations }: NonNullable<Message['tool']>, content: string): ToolTexts {
  const changes = Array.isArray(output) ? output.flatMap(diffIn) : []
  const diffs = changes.length > 0 ? changes : diffIn(input)
  const outputs = [content, changes.length > 0 ? '' : textOf(output)]
    .map(text => text.trim())
    .filter(text => text !== '')
  return {
    input: diffs.length > 0 && changes.length === 0 ? '' : textOf(input),
    output: [...new Set(outputs)].join('\n\n'),
    diffs,
    files: locations.map(({ path, line }) => plainText(line === null ? path : `${path}:${line}`)),
  }
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return plainText(value)
  const entries = Object.entries(value)
  if (entries.length === 0) return ''
  const isFlat = !Array.isArray(value) && entries.every(([, each]) => typeof each !== 'object' || each === null)
  if (!isFlat) return plainText(JSON.stringify(value, null, 2))
  return entries.map(([name, each]) => plainText(`${name}: ${String(each)}`)).join('\n')
}

/** Returns the file change in a block of the protocol, or in the input of an editing tool. */
function diffIn(value: unknown): FileChange[] {
  if (typeof value !== 'object' || value === null) return []
  const fields = value as Record<string, unknown>
  const text = (...names: string[]) => names.map(name => fields[name]).find(each => typeof each === 'string')
  const after = text('newText', 'new_string')
  const before = text('oldText', 'old_string')
  if (after === undefined || (before === undefined && fields.type !== 'diff')) return []
  const path = text('path', 'file_path', 'filePath') ?? ''
  return [{ path: plainText(path), before: plainText(before ?? ''), after: plainText(after) }]
}
