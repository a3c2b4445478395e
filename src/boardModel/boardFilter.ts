import { choiceNames, mapChoices, planFields, type ChoiceName } from '../contract/cards/planFields.ts'
import type { CachedColumn, Card } from './cardCache.ts'
import { assigneeNames, isOverdue } from './plan.ts'

export type ConditionName = 'status' | 'label' | 'assignee' | 'creator' | 'agent' | ChoiceName | 'due'
/** A condition of a filter, `label:"bug"` in its text. An empty value matches cards without one. */
export interface Condition {
  name: ConditionName
  value: string
}
/** A filter: conditions, and words that a card must contain. */
export interface ParsedFilter {
  conditions: readonly Condition[]
  words: string
}

/** The card's agent, if it is known from its session, and the type of its column. */
interface CardContext {
  agent?: string | null
  columnType: CachedColumn['columnType']
}

const listOf = (value: string | null | undefined): string[] => (value ? [value] : [])

/** The values of a card that its conditions are compared with. */
export const valuesOf: Record<ConditionName, (card: Card, context: CardContext) => readonly string[]> = {
  status: ({ status }) => [status],
  label: ({ labels }) => labels,
  assignee: assigneeNames,
  creator: ({ creatorName }) => listOf(creatorName),
  agent: ({ agent }, context) => listOf(context.agent ?? agent),
  ...mapChoices(name => (card: Card) => listOf(card[name])),
  due: (card, { columnType }) =>
    card.dueAt === null ? [] : isOverdue(card, columnType, Date.now()) ? ['set', 'overdue'] : ['set'],
}

export const conditionNames = Object.keys(valuesOf) as readonly ConditionName[]
const conditionPattern = new RegExp(`(?:^|\\s)(${conditionNames.join('|')}):("(?:[^"\\\\]|\\\\.)*")(?=\\s|$)`, 'g')

/** Parses the text of a filter. Conditions are quoted, so that a half-typed one still counts as words. */
export function parseFilter(text: string): ParsedFilter {
  const conditions: Condition[] = []
  const words = text.replace(conditionPattern, (whole, name: ConditionName, quoted: string) => {
    const value = unquote(quoted)
    if (value === undefined) return whole
    conditions.push({ name, value })
    return ''
  })
  return { conditions, words: words.trimStart() }
}

function unquote(quoted: string): string | undefined {
  try {
    return JSON.parse(quoted) as string
  } catch {
    return undefined
  }
}

/** Returns the text of a filter, the conditions first. */
export const formatFilter = ({ conditions, words }: ParsedFilter): string =>
  [...conditions.map(({ name, value }) => `${name}:${JSON.stringify(value)}`), words].filter(Boolean).join(' ')

/** Adds a condition, or removes it if the filter has it. */
export function toggleCondition(text: string, { name, value }: Condition): string {
  const { conditions, words } = parseFilter(text)
  const others = conditions.filter(each => each.name !== name || each.value !== value)
  return formatFilter({
    conditions: others.length < conditions.length ? others : [...conditions, { name, value }],
    words,
  })
}

/**
 * Returns a function that tests a card. A card matches one of the conditions of each name, and has every word somewhere in its title, its
 * labels, its status, its agent, (with @) the name of its creator or an assignee, (with the sign of a choice) its value, (with !) the word
 * due or overdue, or (with #) its ID.
 */
export function createFilter(text: string): (card: Card | undefined, context: CardContext) => boolean {
  const { conditions, words } = parseFilter(text)
  const wanted = new Map(conditions.map(({ name }) => [name, conditions.filter(each => each.name === name)]))
  const parts = words.toLowerCase().split(/\s+/)
  return (card, context) => {
    if (!card) return false
    for (const [name, some] of wanted) {
      const values = valuesOf[name](card, context)
      if (!some.some(({ value }) => (value === '' ? values.length === 0 : values.includes(value)))) return false
    }
    const content = texts.get(card) ?? textOf(card)
    texts.set(card, content)
    const agent = context.agent?.toLowerCase()
    const isLate = () => isOverdue(card, context.columnType, Date.now())
    return parts.every(part => content.includes(part) || agent?.includes(part) || (part === '!overdue' && isLate()))
  }
}

const textOf = (card: Card): string => {
  const { title, labels, status, agent, creatorName, id, dueAt } = card
  const people = [creatorName ?? '', ...assigneeNames(card)].map(name => `@${name}`).join(' ')
  const choices = choiceNames.map(name => `${planFields[name].sign}${card[name] ?? ''}`).join(' ')
  return `${title} ${labels.join(' ')} ${status} ${agent ?? ''} ${people} ${choices} ${dueAt ? '!due' : ''} #${id}`.toLowerCase()
}
const texts = new WeakMap<Card, string>()
