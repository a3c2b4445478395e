import * as v from 'valibot'
import { AccountId, AccountRef, GivenTime, IntegerAccountId, Name, queryInteger, Time } from '../fields.ts'
import { choiceNames, choiceWords, planFields, type ChoiceName, type PlanFieldName } from './planFields.ts'

export const Priority = v.picklist(planFields.priority.values, `must be ${choiceWords('priority')}`)
export type Priority = v.InferOutput<typeof Priority>

export const maxAssignees = 20
/** The size of a card, in a unit that the project chooses. */
export const Estimate = v.pipe(
  v.number('must be a number'),
  v.minValue(0, 'must be at least 0'),
  v.maxValue(1_000_000, 'must be at most 1000000'),
  v.check(value => Number(value.toFixed(2)) === value, 'must have at most 2 decimals'),
)

/** A list of people, each once. */
export const people = <Id extends v.GenericSchema<unknown, number>>(id: Id) =>
  v.pipe(
    v.array(id),
    v.maxLength(maxAssignees, `must have at most ${maxAssignees} users`),
    v.check(ids => new Set(ids).size === ids.length, 'must contain each user once'),
  )
/** The start time of a card belongs to its order, because it can start an agent. */
export type PlanEntries = Readonly<Record<Exclude<PlanFieldName, 'startAt'>, v.GenericSchema>>
/** The priority, due date and size of a card. */
export const Plan = {
  priority: v.optional(Priority),
  dueAt: v.optional(v.nullable(GivenTime)),
  estimate: v.optional(v.nullable(Estimate)),
} satisfies PlanEntries
export type Plan = v.InferOutput<v.ObjectSchema<typeof Plan, undefined>>
export const planNames = Object.keys(Plan) as ReadonlyArray<keyof Plan>
const names = v.pipe(v.array(Name), v.maxLength(maxAssignees, `must have at most ${maxAssignees} users`))
/** The assignees, priority, due date and size of a card. Assignees with and without an account are set separately. */
export const CardPlan = { assigneeIds: v.optional(people(AccountRef)), assigneeNames: v.optional(names), ...Plan }
/** The plan on external routes. */
export const ExternalPlan = { assigneeIds: v.optional(people(IntegerAccountId)), ...Plan }

/** A person with an account, or a name without one: from an import, or of a deleted account. */
const assignee = <UserId extends v.GenericSchema>(userId: UserId) =>
  v.union([v.object({ userId, displayName: v.string() }), v.object({ name: v.string() })])
export const Assignee = assignee(AccountId)
export type Assignee = v.InferOutput<typeof Assignee>
const shownPlan = {
  priority: Priority,
  dueAt: v.nullable(Time),
  estimate: v.nullable(v.number()),
} satisfies PlanEntries
/** How the plan of a card is shown. */
export const ShownPlan = { assignees: v.array(Assignee), ...shownPlan }
export const ShownExternalPlan = { assignees: v.array(assignee(IntegerAccountId)), ...shownPlan }

export type SortField = 'position' | 'id' | ChoiceName | 'dueAt' | 'updatedAt'
/** The orders of a list. `-` reverses an order; cards without a value come last in both directions. */
export const sorts: readonly SortField[] = ['position', 'id', ...choiceNames, 'dueAt', 'updatedAt']
export type Sort = SortField | `-${SortField}`
const sortNames: readonly Sort[] = [...sorts, ...sorts.map(sort => `-${sort}` as const)]
/** The filters of external lists by the plan of a card. */
export const ExternalPlanFilter = {
  assigneeId: v.optional(v.union([queryInteger(0), v.literal('none')], 'must be an ID, or none')),
  priority: v.optional(Priority),
  dueBefore: v.optional(GivenTime),
} satisfies Readonly<Record<ChoiceName, v.GenericSchema>> & v.ObjectEntries
/** The filters of lists by the plan of a card, and their order. */
export const PlanFilter = {
  ...ExternalPlanFilter,
  sort: v.optional(
    v.picklist(
      sortNames,
      `must be ${sorts.slice(0, -1).join(', ')} or ${sorts.at(-1)!}, or the same with a leading - for descending order`,
    ),
  ),
}
