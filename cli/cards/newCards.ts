import { usage } from '../failures/failure.ts'
import { planFileFields, type FileField } from './planInputs.ts'

/** A card from a file. Command-line options override its fields. */
export interface CardText extends Partial<Record<keyof typeof planFileFields, string | number>> {
  title?: string
  prompt?: string
  column?: string
  labels?: string[]
  assignees?: string[]
  agent?: string
  profile?: string
  model?: string
  mode?: string
  effort?: string
  useWorktree?: boolean
}

const isText = (value: unknown): boolean => typeof value === 'string'
const plainText: FileField = { described: 'text', isValid: isText }
const listOf = (described: string): FileField => ({
  described,
  isValid: value => Array.isArray(value) && value.every(isText),
  parse: text =>
    text
      .replace(/^\[|\]$/g, '')
      .split(',')
      .map(each => each.trim().replace(/^(["'])(.*)\1$/, '$2'))
      .filter(Boolean),
})
const fileFields: Readonly<Record<keyof CardText, FileField>> = {
  title: plainText,
  prompt: plainText,
  column: { described: 'a name or an ID', isValid: value => isText(value) || typeof value === 'number' },
  labels: listOf('a list of texts'),
  ...planFileFields,
  assignees: listOf('a list of names'),
  agent: plainText,
  profile: plainText,
  model: plainText,
  mode: plainText,
  effort: plainText,
  useWorktree: {
    described: 'true or false',
    isValid: value => typeof value === 'boolean',
    parse: text => ({ true: true, false: false })[text],
  },
}
/** The fields that a file with cards can set. */
export const fileFieldNames = Object.keys(fileFields) as ReadonlyArray<keyof CardText>

/**
 * Parses a card from Markdown. Front matter between two `---` lines can set the fields of a card, with lists separated by commas.
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
      const { parse } = fileFields[name as keyof CardText] ?? plainText
      return [name, parse ? parse(plain) : plain]
    })
  return requireCardText(Object.fromEntries(entries) as Record<string, unknown>, 'the front matter')
}

/**
 * Parses cards from NDJSON, one object per line. All lines are parsed before the first card is created.
 * @throws Failure (usage) with the line number
 */
export function cardsOfLines(text: string): CardText[] {
  return text.split('\n').flatMap((line, at) => {
    if (line.trim() === '') return []
    const card = requireCardText(parseLine(line, at + 1), `line ${at + 1}`)
    if (card.title === undefined || card.title.trim() === '') throw usage(`line ${at + 1} has no title`)
    return [card]
  })
}

function parseLine(line: string, number: number): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line)
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    /* The error is thrown below. */
  }
  throw usage(`line ${number} is not a JSON object`, {
    hint: 'one card per line, for example: {"title": "Fix the login", "labels": ["bug"]}',
  })
}

function requireCardText(fields: Record<string, unknown>, where: string): CardText {
  for (const [name, value] of Object.entries(fields)) {
    if (!Object.hasOwn(fileFields, name))
      throw usage(`${where} has an unknown field: ${name}`, {
        see: `known fields: ${fileFieldNames.join(', ')}`,
      })
    const { described, isValid } = fileFields[name as keyof CardText]
    if (!isValid(value)) throw usage(`${where}: ${name} must be ${described}`)
  }
  return fields
}
