import { describe, expect, test } from 'vitest'
import { createFilter, formatFilter, parseFilter, toggleCondition } from '../../src/boardModel/boardFilter.ts'
import type { Card } from '../../src/boardModel/cardCache.ts'

const card = {
  id: '7',
  title: 'Fix the roof',
  labels: ['needs design', 'bug'],
  status: 'waiting',
  agent: null,
  creatorName: 'Ada',
  assignees: [{ userId: '1', displayName: 'Bo Dahl' }],
  priority: 'high',
  dueAt: '2020-01-31T12:00:00.000Z',
  archivedAt: null,
} as unknown as Card
const isFound = (filter: string, changed: Partial<Card> = {}) =>
  createFilter(filter)({ ...card, ...changed }, { agent: 'qwen', columnType: 'active' })

describe('a filter', () => {
  test.each([
    ['roof', true],
    ['ROOF @bo !high #7', true],
    ['cellar', false],
    ['label:"bug"', true],
    ['label:"bu"', false],
    ['label:"bu', false],
    ['label:"none" label:"needs design"', true],
    ['label:"bug" status:"running"', false],
    ['status:"waiting" roof', true],
    ['status:"waiting" cellar', false],
    ['assignee:"Bo Dahl"', true],
    ['assignee:"Ada"', false],
    ['creator:"Ada"', true],
    ['agent:"qwen"', true],
    ['priority:"low" priority:"high"', true],
    ['due:"overdue"', true],
    ['due:""', false],
  ])('%s finds the card: %s', (filter, found) => {
    expect(isFound(filter)).toBe(found)
  })

  test.each<[string, Partial<Card>]>([
    ['assignee:""', { assignees: [] }],
    ['label:""', { labels: [] }],
    ['due:""', { dueAt: null }],
  ])('%s finds only a card without a value', (filter, without) => {
    expect([isFound(filter), isFound(filter, without)]).toEqual([false, true])
  })

  test.each(['', 'roof', 'label:"a \\"quoted\\" one" status:"waiting" two words', 'label:"half', 'other:"x"'])(
    '%j is unchanged after it is parsed and formatted',
    text => {
      expect(formatFilter(parseFilter(text))).toBe(text)
    },
  )

  test('a condition is added before the words, and removed again', () => {
    const condition = { name: 'label', value: 'needs design' } as const
    const filtered = toggleCondition('status:"waiting" roof', condition)
    expect(filtered).toBe('status:"waiting" label:"needs design" roof')
    expect(toggleCondition(filtered, condition)).toBe('status:"waiting" roof')
  })
})
