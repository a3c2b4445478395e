import { describe, expect, test } from 'vitest'
import type { Card } from '../../src/boardModel/cardCache.ts'
import { groupCards } from '../../src/boardModel/group.ts'
import { parseSort, sortCards } from '../../src/boardModel/sort.ts'

const card = (id: string, fields: Partial<Card>): [string, Card] => [
  id,
  {
    id,
    title: '',
    labels: [],
    priority: 'normal',
    assignees: [],
    agent: null,
    parentId: null,
    dueAt: null,
    ...fields,
  } as Card,
]
const ann = { name: 'Ann' }
const bob = { name: 'Bob' }
const cards = new Map([
  card('1', { labels: ['ui', 'bug'], assignees: [bob, ann], priority: 'low', title: 'Card 10' }),
  card('2', { labels: ['bug'], agent: 'claude', dueAt: '2030-01-02T00:00:00Z', title: 'card 9' }),
  card('3', { labels: ['bug', 'ui'], assignees: [ann], parentId: '1', priority: 'urgent', title: 'Card 1' }),
  card('4', { dueAt: '2030-01-01T00:00:00Z', title: 'b' }),
])
const ids = [...cards.keys()]

describe('groupCards', () => {
  test.each([
    ['label', ['bug: 2', 'bug ui: 1 3', ': 4']],
    ['assignee', ['Ann: 3', 'Ann Bob: 1', ': 2 4']],
    ['priority', ['urgent: 3', 'normal: 2 4', 'low: 1']],
    ['parent', ['1: 3', ': 1 2 4']],
    ['agent', ['claude: 2', 'codex: 4', ': 1 3']],
  ] as const)(
    'orders the groups by %s, with combinations of values and the cards without a value last',
    (by, groups) => {
      const agents = new Map([['4', { agent: 'codex' }]])
      const found = groupCards(ids, cards, by, agents)
      expect(found.map(group => `${group.values.join(' ')}: ${group.ids.join(' ')}`)).toEqual(groups)
    },
  )
})

describe('sortCards', () => {
  test.each([
    ['title', '4 3 2 1'],
    ['-title', '1 2 3 4'],
    ['number', '1 2 3 4'],
    ['-number', '4 3 2 1'],
    ['due', '4 2 1 3'],
    ['-due', '2 4 1 3'],
    ['label', '2 3 1 4'],
    ['agent', '2 1 3 4'],
    ['priority', '3 2 4 1'],
    ['unknown', '1 2 3 4'],
  ])('sorts by %s, with equal cards in their order and cards without a value last', (text, order) => {
    const { sort, isReversed } = parseSort(text)
    expect(sortCards(ids, cards, sort, { isReversed }).join(' ')).toBe(order)
  })
})
