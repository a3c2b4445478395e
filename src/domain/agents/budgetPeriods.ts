import type { BudgetPeriod } from '../../contract/agents/budgets.ts'

/** A budget's period, in days of UTC: `until` is the day after its last one. */
export interface Period {
  start: string
  until: string
  resetsAt: string | null
}

/** The period that contains a time. Days are those of UTC on every daemon, as in all of the board's statistics. */
export function periodAt(period: BudgetPeriod, now: string): Period {
  if (period === 'total') return { start: '', until: '9999-12-31', resetsAt: null }
  const [year, month, day] = now.slice(0, 10).split('-').map(Number) as [number, number, number]
  const next = period === 'day' ? new Date(Date.UTC(year, month - 1, day + 1)) : new Date(Date.UTC(year, month, 1))
  const until = next.toISOString()
  return {
    start: period === 'day' ? now.slice(0, 10) : `${now.slice(0, 7)}-01`,
    until: until.slice(0, 10),
    resetsAt: until,
  }
}
