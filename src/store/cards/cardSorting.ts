import type { Sort, SortField } from '../../contract/cards/cardPlan.ts'
import { choiceValues, mapChoices, planFields, type ChoiceName } from '../../contract/cards/planFields.ts'
import { placeJoins, placeSql } from './order.ts'

/** A part of an ordered list of cards, which an index gives in its order. The parts follow each other. */
interface Arm {
  joins?: string
  where?: string
  order: string
}

const places = `JOIN boards b ON b.id = c.board_id ${placeJoins}`
const rank = `CASE c.priority ${planFields.priority.values.map((priority, at) => `WHEN '${priority}' THEN ${at}`).join(' ')} END`
/** Cards that can start now, in the order in which they should start. */
const ready: Arm = {
  joins: places,
  order: `${rank} DESC, c.due_at IS NULL, c.due_at, b.position, l.position, ${placeSql}`,
}

const byChoice =
  (name: ChoiceName) =>
  (turned: string): Arm[] => {
    const { values, default: unset } = planFields[name]
    return [
      ...(turned === '' ? values : choiceValues(name)).map(value => `= '${value}'`),
      ...(unset === null ? ['IS NULL'] : []),
    ].map(which => ({ where: `c.${name} ${which}`, order: 'c.id' }))
  }

const arms: Record<SortField, (turned: string) => Arm[]> = {
  position: turned => [
    { joins: places, order: `b.position${turned}, l.position${turned}, ${placeSql}${turned}, c.id${turned}` },
  ],
  id: turned => [{ order: `c.id${turned}` }],
  updatedAt: turned => [{ order: `c.updated_at${turned}, c.id${turned}` }],
  dueAt: turned => [
    { where: 'c.due_at IS NOT NULL', order: `c.due_at${turned}, c.id${turned}` },
    { where: 'c.due_at IS NULL', order: 'c.id' },
  ],
  ...mapChoices(byChoice),
}

/**
 * The parts of a list in an order. Without an order, ready cards first. Cards without a value come last in both directions.
 */
export function listArms(sort: Sort | undefined): Arm[] {
  if (sort === undefined) return [ready]
  const isTurned = sort.startsWith('-')
  return arms[(isTurned ? sort.slice(1) : sort) as SortField](isTurned ? ' DESC' : '')
}
