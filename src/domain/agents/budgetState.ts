import { warnedFrom, type BudgetState, type BudgetUnit } from '../../contract/agents/budgets.ts'
import { Problem } from '../../contract/errors.ts'
import { listBudgetsOf, type BudgetRow, type Spender } from '../../store/agents/budgets.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import { sumUsage, type UsageDelta, type UsageScope } from '../../store/agents/usage.ts'
import { periodAt } from './budgetPeriods.ts'
import { shownTime } from '../cards/shownTime.ts'

/** Sums of binary fractions miss a limit such as 0.5 by less than this fraction. */
const tolerance = 1e-9

/** A budget with the amount spent in the current period. */
export interface MeasuredBudget extends BudgetRow {
  state: BudgetState
  resetsAt: string | null
}

/** The amount that a report adds to a budget, and the number of runs without a known amount. */
export const amountOf: Record<BudgetUnit, (delta: UsageDelta) => { spent: number; unknownRuns: number }> = {
  usd: ({ costUsd = 0, costUnknown = 0 }) => ({ spent: costUsd, unknownRuns: costUnknown }),
  tokens: ({ inputTokens = 0, outputTokens = 0, tokensUnknown = 0 }) => ({
    spent: inputTokens + outputTokens,
    unknownRuns: tokensUnknown,
  }),
  runs: ({ runs = 0 }) => ({ spent: runs, unknownRuns: 0 }),
  hours: ({ runningMs = 0 }) => ({ spent: runningMs / 3_600_000, unknownRuns: 0 }),
}

export const stateOf = (spent: number, limit: number): BudgetState =>
  spent >= limit * (1 - tolerance) ? 'exhausted' : spent >= limit * warnedFrom * (1 - tolerance) ? 'warned' : 'ok'

/** The recorded usage in a period. */
export const measureFrom = (
  db: Reader,
  { scope, scopeId, unit }: Pick<BudgetRow, 'scope' | 'scopeId' | 'unit'>,
  { start, until }: { start: string; until: string },
): Promise<{ spent: number; unknownRuns: number }> =>
  sumUsage(db, { scope: `${scope}Id` satisfies UsageScope, scopeId, unit }, start, until)

/** The current state of a budget. If its stored values are of another period, they are measured again. */
export async function measureBudget(db: Reader, row: BudgetRow, now: string): Promise<MeasuredBudget> {
  const { resetsAt, ...period } = periodAt(row.period, now)
  const present =
    row.periodStart === period.start
      ? row
      : { ...row, ...(await measureFrom(db, row, period)), periodStart: period.start, told: 'ok' as const }
  return { ...present, state: stateOf(present.spent, present.amount), resetsAt }
}

/**
 * The exhausted budget that prevents an agent from working; of several, the one that resets last. Undefined if there is none. A
 * limit on runs does not affect an agent that `hasRun`, because its run is already counted.
 */
export async function findExhausted(
  db: Reader,
  of: Spender,
  now: string,
  { hasRun = false } = {},
): Promise<MeasuredBudget | undefined> {
  const rows = (await listBudgetsOf(db, of)).filter(({ unit }) => !hasRun || unit !== 'runs')
  const measured = await Promise.all(rows.map(row => measureBudget(db, row, now)))
  return measured
    .filter(({ state }) => state === 'exhausted')
    .sort((a, b) => ((b.resetsAt ?? '9') < (a.resetsAt ?? '9') ? -1 : 1))[0]
}

/** @throws Problem BUDGET_EXHAUSTED */
export async function requireBudget(
  tx: Transaction,
  of: Spender,
  options?: Parameters<typeof findExhausted>[3],
): Promise<void> {
  const exhausted = await findExhausted(tx, of, tx.now, options)
  if (exhausted) throw asProblem(exhausted)
}

export const asProblem = (budget: MeasuredBudget): Problem => new Problem('BUDGET_EXHAUSTED', describeExhausted(budget))

/** The budget, the spent amount and the time of its reset, for the users whose work it stops. */
export const describeExhausted = (budget: Described): string =>
  `The budget of ${nameOf(budget)} is used up: ${describeSpent(budget)}. ${
    budget.resetsAt === null
      ? 'Raise its limit to continue.'
      : `It resets at ${shownTime(budget.resetsAt)}. To continue earlier, raise its limit.`
  }`

export const describeWarned = (budget: Described): string =>
  `${warnedFrom * 100} % of the budget of ${nameOf(budget)} is spent: ${describeSpent(budget)}.`

type Described = Pick<
  MeasuredBudget,
  'scope' | 'scopeId' | 'scopeName' | 'spent' | 'amount' | 'unit' | 'period' | 'resetsAt'
>

/** `$0.40 of $0.50 this month` */
export const describeSpent = ({
  spent,
  amount,
  unit,
  period,
}: Pick<BudgetRow, 'spent' | 'amount' | 'unit' | 'period'>): string =>
  `${shownAmount(spent, unit)} of ${shownAmount(amount, unit)}${{ day: ' today', month: ' this month', total: '' }[period]}`

/** `project 3 "Shop"` */
const nameOf = ({ scope, scopeId, scopeName }: Pick<BudgetRow, 'scope' | 'scopeId' | 'scopeName'>): string =>
  `${scope} ${scopeId} "${scopeName.length > 100 ? `${scopeName.slice(0, 99).toWellFormed()}…` : scopeName}"`

const shownAmount = (amount: number, unit: BudgetUnit): string => {
  if (unit === 'usd') return `$${amount < 0.01 && amount > 0 ? amount.toPrecision(2) : amount.toFixed(2)}`
  if (unit === 'hours') return `${Number(amount.toFixed(amount < 1 ? 4 : 2))} hours`
  return `${amount.toLocaleString('en-US')} ${unit}`
}
