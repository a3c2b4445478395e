import { planFieldNames, planFields, planWord } from '../contract/cards/planFields.ts'
import type { Card } from './cardCache.ts'

type Due = Pick<Card, 'dueAt' | 'archivedAt'>

/** The names of a card's assignees. */
export const assigneeNames = ({ assignees }: Pick<Card, 'assignees'>): string[] =>
  assignees.map(each => ('userId' in each ? each.displayName : each.name))

/** The choices and numbers of a card's plan that are not the default: `priority high`, `estimate 3`. */
export const planFacts = (card: Card): string[] =>
  planFieldNames.flatMap(name => {
    const { kind, default: unset } = planFields[name]
    const isFact = (kind === 'choice' || kind === 'number') && card[name] !== unset
    return isFact ? [`${planWord(name)} ${card[name]}`] : []
  })

/** Whether the start time of a card is in the future. */
export const startsLater = ({ startAt }: Pick<Card, 'startAt'>, nowMs: number): boolean =>
  startAt !== null && Date.parse(startAt) > nowMs

/** Whether a card is past its due date. A card in a done column, or an archived one, is never overdue. */
export const isOverdue = ({ dueAt, archivedAt }: Due, columnType: string | undefined, nowMs: number): boolean =>
  dueAt !== null && archivedAt === null && columnType !== 'done' && Date.parse(dueAt) < nowMs

/** The end of a day (2030-01-31) in the person's time zone: a due date means the whole day. */
export const endOfDay = (day: string): string => new Date(`${day}T23:59:59.999`).toISOString()
