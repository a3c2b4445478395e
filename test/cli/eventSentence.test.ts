import { expect, test } from 'vitest'
import { eventSentence } from '../../cli/output/eventSentence.ts'
import { events } from '../../src/contract/server/events.ts'

const card = { id: '12', title: 'Fix the login', columnName: 'Done', status: 'idle', mergedInto: 'main' }
const ofCard = { id: '3', cardId: '12', cardTitle: 'Fix the login' }

test.each([
  ['card.created', card, 'Card 12 "Fix the login": created in Done'],
  ['card.moved', card, 'Card 12 "Fix the login": moved to Done'],
  ['card.merged', card, 'Card 12 "Fix the login": merged into main'],
  ['card.archived', card, 'Card 12 "Fix the login": archived'],
  ['card.deleted', { id: '12', columnId: '1' }, 'Card 12: deleted'],
  ['agent.status', { ...ofCard, agent: 'claude', status: 'running' }, 'Card 12 "Fix the login": claude is running'],
  [
    'agent.status',
    { ...ofCard, agent: 'claude', status: 'waiting', waitingFor: 'Run npm test' },
    'Card 12 "Fix the login": claude is waiting: Run npm test',
  ],
  [
    'agent.message',
    { ...ofCard, role: 'agent', content: 'Done.\nMore.' },
    'Card 12 "Fix the login": agent writes: Done.',
  ],
  [
    'agent.permission',
    { ...ofCard, title: 'Run npm test' },
    'Card 12 "Fix the login": question from the agent: Run npm test',
  ],
  [
    'comment.created',
    { id: '3', cardId: '12', author: { displayName: 'Ada' }, body: 'Good.' },
    'Card 12: Ada comments: Good.',
  ],
  ['comment.deleted', { id: '3', cardId: '12' }, 'Card 12: comment deleted'],
  ['pull_request.updated', { cardId: '12' }, 'Card 12: pull request updated'],
  [
    'notification',
    { cardId: '12', cardTitle: 'Fix the login', message: 'The agent failed.' },
    'Card 12 "Fix the login": The agent failed.',
  ],
  ['notification', { cardId: null, cardTitle: 'Web', message: 'A budget is used up.' }, 'Web: A budget is used up.'],
  ['column.updated', { id: '4', name: 'Review' }, 'Column 4 "Review": updated'],
  ['board.reordered', [], 'Board: reordered'],
] as const)('%s %j is a sentence', (type, data, sentence) => {
  expect(eventSentence({ type, data, seq: 1, projectId: '1', at: '' } as never)).toBe(sentence)
})

test('every type of event has a sentence', () => {
  for (const type of Object.keys(events))
    expect(eventSentence({ type, data: { message: 'Told.' }, seq: 1, projectId: '1', at: '' } as never), type).not.toBe(
      '',
    )
})
