import type { Card } from './cardCache.ts'

type Due = Pick<Card, 'dueAt' | 'archivedAt'>

/** The names of those whom a card is assigned to. */
export const assigneeNames = ({ assignees }: Pick<Card, 'assignees'>): string[] =>
  assignees.map(each => ('userId' in each ? each.displayName : each.name))

/** Whether the time of a card's start is to come. */
export const startsLater = ({ startAt }: Pick<Card, 'startAt'>, nowMs: number): boolean =>
  startAt !== null && Date.parse(startAt) > nowMs

/** Whether a card should have been done by now. One that stands in a column of done cards, or is archived, is never late. */
export const isOverdue = ({ dueAt, archivedAt }: Due, columnType: string | undefined, nowMs: number): boolean =>
  dueAt !== null && archivedAt === null && columnType !== 'done' && Date.parse(dueAt) < nowMs
