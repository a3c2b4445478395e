import type { Priority } from '../../src/contract/cards/cardPlan.ts'
import { usage } from '../failures/failure.ts'
import { planFields } from './planFields.ts'

/** A card from a file. Command-line options override its fields. */
export interface CardText {
  title?: string
  prompt?: string
  column?: string
  labels?: string[]
  priority?: Priority
  due?: string
  estimate?: number
  assignees?: string[]
  agent?: string
  profile?: string
  model?: string
  mode?: string
  effort?: string
  useWorktree?: boolean
}

interface FileField {
  described: string
  isValid(value: unknown): boolean
}
const isText = (value: unknown): boolean => typeof value === 'string'
const plainText: FileField = { described: 'text', isValid: isText }
const isList = (value: unknown): boolean => Array.isArray(value) && value.every(isText)
const fileFields: Readonly<Record<keyof CardText, FileField>> = {
  title: plainText,
  prompt: plainText,
  column: { described: 'a name or an id', isValid: value => isText(value) || typeof value === 'number' },
  labels: { described: 'a list of texts', isValid: isList },
  priority: planFields.priority.inFile!,
  due: planFields.due.inFile!,
  estimate: planFields.estimate.inFile!,
  assignees: { described: 'a list of names', isValid: isList },
  agent: plainText,
  profile: plainText,
  model: plainText,
  mode: plainText,
  effort: plainText,
  useWorktree: { described: 'true or false', isValid: value => typeof value === 'boolean' },
}

/**
 * Parses a card from Markdown. Front matter between two `---` lines can set `column`, `labels` and `assignees` (comma-separated),
 * `priority`, `due`, `estimate`, `agent`, `profile`, `model`, `mode`, `effort`, `useWorktree` and `title`;
 * Without a title there, the first line or heading is the title. The rest is the prompt.
 * @throws Failure (usage)
 */
export function cardOfMarkdown(text: string): CardText {
  const [, head, rest = ''] = /^---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n([\s\S]*))?$/.exec(text) ?? [
    undefined,
    undefined,
    text,
  ]
  const card = head === undefined ? {} : ofHead(head)
  const body = rest.trim()
  if (card.title !== undefined) return body === '' ? card : { ...card, prompt: body }
  const [first = '', ...lines] = body.split(/\r?\n/)
  const prompt = lines.join('\n').trim()
  return { ...card, title: first.replace(/^#+\s+/, '').trim(), ...(prompt !== '' && { prompt }) }
}

function ofHead(head: string): CardText {
  const entries = head
    .split(/\r?\n/)
    .filter(line => line.trim() !== '')
    .map(line => {
      const [, name, value] = /^([\w-]+):\s*(.*?)\s*$/.exec(line) ?? []
      if (name === undefined || value === undefined)
        throw usage(`the front matter has an invalid line: ${line.slice(0, 80)}`, {
          hint: 'for example: column: Backlog',
        })
      const plain = value.replace(/^(["'])(.*)\1$/, '$2')
      if (name === 'labels' || name === 'assignees') return [name, listOf(plain)]
      if (name === 'estimate') return [name, Number(plain || Number.NaN)]
      return [name, name === 'useWorktree' ? { true: true, false: false }[plain] : plain]
    })
  return checked(Object.fromEntries(entries) as Record<string, unknown>, 'the front matter')
}

const listOf = (text: string): string[] =>
  text
    .replace(/^\[|\]$/g, '')
    .split(',')
    .map(each => each.trim().replace(/^(["'])(.*)\1$/, '$2'))
    .filter(Boolean)

/**
 * Parses cards from NDJSON, one object per line. All lines are parsed before the first card is created. @throws
 * Failure (usage) with the line number
 */
export function cardsOfLines(text: string): CardText[] {
  return text.split('\n').flatMap((line, at) => {
    if (line.trim() === '') return []
    const card = checked(parsed(line, at + 1), `line ${at + 1}`)
    if (card.title === undefined || card.title.trim() === '') throw usage(`line ${at + 1} has no title`)
    return [card]
  })
}

function parsed(line: string, number: number): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line)
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    /* It is said below. */
  }
  throw usage(`line ${number} is not a JSON object`, {
    hint: 'one card per line, for example: {"title": "Fix the login", "labels": ["bug"]}',
  })
}

function checked(fields: Record<string, unknown>, where: string): CardText {
  for (const [name, value] of Object.entries(fields)) {
    if (!Object.hasOwn(fileFields, name))
      throw usage(`${where} has an unknown field: ${name}`, {
        see: `known fields: ${Object.keys(fileFields).join(', ')}`,
      })
    const { described, isValid } = fileFields[name as keyof CardText]
    if (!isValid(value)) throw usage(`${where}: ${name} must be ${described}`)
  }
  return fields
}
