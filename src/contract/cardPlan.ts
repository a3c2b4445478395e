import * as v from 'valibot'
import { AccountId, AccountRef, GivenTime, IntegerAccountId, Name, queryInteger, Time } from './fields.ts'

/** From what comes last to what comes first. */
export const priorities = ['low', 'normal', 'high', 'urgent'] as const
export const Priority = v.picklist(priorities, 'must be urgent, high, normal or low')
export type Priority = v.InferOutput<typeof Priority>

export const maxAssignees = 20
/** How much work a card is, in a unit of the project's own. */
export const Estimate = v.pipe(
  v.number('must be a number'),
  v.minValue(0, 'must be at least 0'),
  v.maxValue(1_000_000, 'must be at most 1000000'),
  v.check(value => Number(value.toFixed(2)) === value, 'must have at most 2 decimals'),
)

const people = <Id extends v.GenericSchema<unknown, number>>(id: Id) =>
  v.pipe(
    v.array(id),
    v.maxLength(maxAssignees, `must name at most ${maxAssignees} people`),
    v.check(ids => new Set(ids).size === ids.length, 'must name each of them once'),
  )
const Plan = {
  priority: v.optional(Priority),
  dueAt: v.optional(v.nullable(GivenTime)),
  estimate: v.optional(v.nullable(Estimate)),
}
const names = v.pipe(v.array(Name), v.maxLength(maxAssignees, `must name at most ${maxAssignees} people`))
/** Who is to do a card, how soon, by when, and how much it is. Accounts and names without one are set each on their own. */
export const CardPlan = { assigneeIds: v.optional(people(AccountRef)), assigneeNames: v.optional(names), ...Plan }
/** The same for external routes. */
export const ExternalPlan = { assigneeIds: v.optional(people(IntegerAccountId)), ...Plan }

/** Somebody with an account, or a name without one: of an import, or of an account that is gone. */
const assignee = <UserId extends v.GenericSchema>(userId: UserId) =>
  v.union([v.object({ userId, displayName: v.string() }), v.object({ name: v.string() })])
export const Assignee = assignee(AccountId)
export type Assignee = v.InferOutput<typeof Assignee>
const shownPlan = { priority: Priority, dueAt: v.nullable(Time), estimate: v.nullable(v.number()) }
/** How the plan of a card is shown. */
export const ShownPlan = { assignees: v.array(Assignee), ...shownPlan }
export const ShownExternalPlan = { assignees: v.array(assignee(IntegerAccountId)), ...shownPlan }

/** The orders of a list. With `-` it is the other way round; cards without a due date come last either way. */
export const sorts = ['position', 'id', 'priority', 'dueAt', 'updatedAt'] as const
export type SortField = (typeof sorts)[number]
export type Sort = SortField | `-${SortField}`
const sortNames: readonly Sort[] = [...sorts, ...sorts.map(sort => `-${sort}` as const)]
/** What lists are filtered by, beside where a card is and what it says, and how they are sorted. */
export const PlanFilter = {
  assigneeId: v.optional(v.union([queryInteger(0), v.literal('none')], 'must be an id, or none')),
  priority: v.optional(Priority),
  dueBefore: v.optional(GivenTime),
  sort: v.optional(
    v.picklist(
      sortNames,
      `must be ${sorts.slice(0, -1).join(', ')} or ${sorts.at(-1)!}, with - before it for the other way round`,
    ),
  ),
}
