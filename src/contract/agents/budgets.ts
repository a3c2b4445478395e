import * as v from 'valibot'
import { Count, Id, queryRefTo, refTo, Time } from '../fields.ts'
import { ofProject } from '../notFound.ts'
import { del, get, patch, post, user, viewer } from '../route.ts'

export const BudgetScope = v.picklist(
  ['card', 'project', 'organization', 'credential'],
  'must be card, project, organization or credential',
)
export type BudgetScope = v.InferOutput<typeof BudgetScope>
export const BudgetUnit = v.picklist(['usd', 'tokens', 'runs', 'hours'], 'must be usd, tokens, runs or hours')
export type BudgetUnit = v.InferOutput<typeof BudgetUnit>
export const BudgetPeriod = v.picklist(['day', 'month', 'total'], 'must be day, month or total')
export type BudgetPeriod = v.InferOutput<typeof BudgetPeriod>
/** `warned`: at least 80% is spent. `exhausted`: the whole amount is spent. */
export const BudgetState = v.picklist(['ok', 'warned', 'exhausted'])
export type BudgetState = v.InferOutput<typeof BudgetState>

/** The fraction of a budget from which on users are notified. */
export const warnedFrom = 0.8
const maxLimit = 1e12

const Limit = v.pipe(
  v.number('must be a number'),
  v.finite('must be a number'),
  v.check(value => value > 0, 'must be more than 0'),
  v.maxValue(maxLimit, `must be at most ${maxLimit}`),
)
/** Whether a limit suits its unit: tokens and runs are whole. */
export const isLimitOf = (unit: BudgetUnit, limit: number): boolean =>
  unit === 'usd' || unit === 'hours' || Number.isInteger(limit)
export const wholeLimit = 'must be a whole number of tokens or runs'

/**
 * `spent` is the usage since the period started, including before the budget was created. `unknownRuns` is the number of agent
 * runs that are not included, because their agents did not report usage. Days and months are in UTC; `resetsAt` is the start of
 * the next period.
 */
export const Budget = v.object({
  id: Id,
  scope: BudgetScope,
  scopeId: Id,
  /** The card's title, or the name of the scope. */
  scopeName: v.string(),
  /** The project of a budget for a card or a project. */
  projectId: v.nullable(Id),
  unit: BudgetUnit,
  limit: v.number(),
  period: BudgetPeriod,
  spent: v.number(),
  unknownRuns: Count,
  state: BudgetState,
  resetsAt: v.nullable(Time),
  createdAt: Time,
  updatedAt: Time,
})
/** A budget that has reached 80% or 100%, and the card whose agent spent it. */
export const ReachedBudget = v.object({ ...Budget.entries, cardId: Id })

/** The kind of ID follows from `scope`, and with it the error code for an unknown ID. */
const ScopeId = refTo('NOT_FOUND')
const NewBudget = v.pipe(
  v.strictObject({ scope: BudgetScope, scopeId: ScopeId, unit: BudgetUnit, limit: Limit, period: BudgetPeriod }),
  v.forward(
    v.check(({ unit, limit }) => isLimitOf(unit, limit), wholeLimit),
    ['limit'],
  ),
)
const ChangeBudget = v.strictObject({ limit: v.optional(Limit), period: v.optional(BudgetPeriod) })
/** Without a filter, all budgets that the caller can see. `projectId`: the budgets of the project and its cards. */
const ListBudgets = v.strictObject({
  projectId: v.optional(queryRefTo('PROJECT_NOT_FOUND')),
  cardId: v.optional(queryRefTo('CARD_NOT_FOUND')),
  organizationId: v.optional(queryRefTo('ORGANIZATION_NOT_FOUND')),
  credentialId: v.optional(queryRefTo('CREDENTIAL_NOT_FOUND')),
})

const ofBudget = { id: 'BUDGET_NOT_FOUND' } as const
export const budgets = {
  list: get('/api/budgets', {
    who: user,
    fails: ['PROJECT_NOT_FOUND', 'CARD_NOT_FOUND', 'ORGANIZATION_NOT_FOUND', 'CREDENTIAL_NOT_FOUND'],
    summary: 'List the budgets that the caller can see, in order of creation',
    input: ListBudgets,
    output: v.array(Budget),
  }),
  listProject: get('/api/projects/{projectId}/budgets', {
    notFound: ofProject,
    who: viewer('agents.read'),
    tool: { name: 'list_budgets', title: 'List budgets', group: 'find', does: 'reads' },
    summary:
      "List the budgets that limit a project's agents: budgets of the project, its cards, its organization and its credentials",
    output: v.array(Budget),
  }),
  create: post('/api/budgets', {
    who: user,
    fails: [
      'CARD_NOT_FOUND',
      'PROJECT_NOT_FOUND',
      'ORGANIZATION_NOT_FOUND',
      'CREDENTIAL_NOT_FOUND',
      'FORBIDDEN',
      'CONFLICT',
    ],
    audited: { target: 'budget', id: 'id', detail: ['scope', 'scopeId', 'unit', 'limit', 'period'] },
    summary: 'Create a budget that limits the agents of a card, a project, an organization or a credential',
    input: NewBudget,
    output: Budget,
    idempotent: true,
    status: 201,
    emits: ['budget.created'],
  }),
  update: patch('/api/budgets/{id}', {
    notFound: ofBudget,
    who: user,
    fails: ['FORBIDDEN', 'CONFLICT'],
    audited: { target: 'budget', detail: ['limit', 'period'] },
    summary: 'Update a budget',
    details: 'Sessions that wait for the budget continue if it now allows them.',
    input: ChangeBudget,
    output: Budget,
    emits: ['budget.updated'],
  }),
  delete: del('/api/budgets/{id}', {
    notFound: ofBudget,
    who: user,
    fails: ['FORBIDDEN'],
    audited: { target: 'budget' },
    summary: 'Delete a budget',
    details: 'Sessions that wait for the budget continue.',
    emits: ['budget.deleted'],
  }),
}
