import type { Tool } from '../../src/contract/agents/tool.ts'

type Fields = Record<string, unknown>

/** The maximum lengths of a text in a short answer, and of a complete answer. */
const [maxText, maxAnswer] = [2000, 200_000]

/** A list, with the request for the next page if there is one. */
interface List {
  items: unknown[]
  next?: Fields
  /** The number of omitted items, if there is no next page. */
  left?: number
}

/**
 * Shortens a tool's answer. Without `full`, it includes only the non-null fields of `brief` and the beginnings of long texts.
 * Answers have a maximum length for models: a truncated list includes the arguments of the next page, and a truncated text ends
 * with the number of omitted characters.
 * @param input the call's fields after validation
 */
export function shortenAnswer(tool: Tool, input: Fields, value: unknown): Fields {
  if (value === undefined) return { done: true }
  const isFull = input.full === true
  const shortenItem = (item: unknown) => (isFull ? item : cutTexts(pickBrief(item, tool.brief), maxText))
  const list = listOf(value)
  if (!list) return fitObject(shortenItem(value) as Fields)
  const items = list.items.map(shortenItem)
  const next = list.nextCursor ? { [tool.pages?.after ?? 'cursor']: list.nextCursor } : nextOf(tool, input, list.items)
  return fitList(tool, input, { items, ...(next && { next }) }, list.items)
}

function listOf(value: unknown): { items: unknown[]; nextCursor?: unknown } | undefined {
  if (Array.isArray(value)) return { items: value as unknown[] }
  const { items, nextCursor } = value as { items?: unknown; nextCursor?: unknown }
  return Array.isArray(items) ? { items: items as unknown[], nextCursor } : undefined
}

/** Returns the next page of a full page, because there can be more items. */
function nextOf(tool: Tool, input: Fields, items: readonly unknown[]): Fields | undefined {
  if (typeof input.limit !== 'number' || items.length < input.limit || items.length === 0) return undefined
  return pageAfter(tool, input, items, items.length)
}

/**
 * Returns the arguments of the page after the first `kept` items, or before the last items if the list ends with the
 * newest.
 */
function pageAfter({ pages }: Tool, input: Fields, items: readonly unknown[], kept: number): Fields | undefined {
  if (!pages) return undefined
  if (pages.offsetWith?.some(field => input[field] !== undefined && input[field] !== false))
    return { offset: Number(input.offset ?? 0) + kept }
  if (isFromEnd(pages.before, pages.after, input)) return { [pages.before!]: idOf(items.at(-kept)) }
  return { [pages.after]: idOf(items[kept - 1]) }
}

const isFromEnd = (before: string | undefined, after: string, input: Fields) =>
  before !== undefined && input[after] === undefined
const idOf = (item: unknown) => (item as { id?: unknown } | undefined)?.id

function pickBrief(item: unknown, brief: readonly string[] | undefined): unknown {
  if (item === null || typeof item !== 'object' || Array.isArray(item)) return item
  return Object.fromEntries(
    Object.entries(item).filter(([name, field]) => field !== null && (brief?.includes(name) ?? true)),
  )
}

/** Cuts each text in a value, and appends the number of omitted characters. */
function cutTexts(value: unknown, max: number): unknown {
  if (typeof value === 'string') return value.length > max ? cutText(value, max) : value
  if (Array.isArray(value)) return value.map(each => cutTexts(each, max))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, cutTexts(field, max)]))
}
const cutText = (text: string, max: number) =>
  `${text.slice(0, max).toWellFormed()}… [${text.length - max} more characters]`

/** Returns as many items as fit, but at least one. */
function fitList(tool: Tool, input: Fields, list: List, whole: readonly unknown[]): Fields & List {
  const { items } = list
  const lengths = items.map(item => JSON.stringify(item).length)
  const fromEnd = isFromEnd(tool.pages?.before, tool.pages?.after ?? '', input)
  if (fromEnd) lengths.reverse()
  let [kept, length] = [0, 0]
  while (kept < lengths.length && (kept === 0 || length + lengths[kept]! <= maxAnswer)) length += lengths[kept++]!
  if (kept === items.length && length <= maxAnswer) return { ...list }
  const some = (fromEnd ? items.slice(-kept) : items.slice(0, kept)).map(item => fitValue(item))
  const next = pageAfter(tool, input, whole, kept)
  return { items: some, ...(next ? { next } : { left: items.length - kept }) }
}

const fitObject = (value: Fields): Fields => fitValue(value) as Fields

/** Returns the value with its texts and, if necessary, its lists cut until it fits. */
function fitValue(value: unknown): unknown {
  if (JSON.stringify(value).length <= maxAnswer) return value
  for (let max = maxAnswer / 2; max > 100; max /= 4) {
    const less = cutTexts(value, max)
    if (JSON.stringify(less).length <= maxAnswer) return less
  }
  return {
    tooLong: JSON.stringify(value).length,
    hint: 'The content is too long to read with this tool, even in parts.',
  }
}
