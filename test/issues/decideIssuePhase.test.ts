import { expect, test } from 'vitest'
import { decideIssuePhase, type Decision, type Present, type Seen } from '../../src/issues/decideIssuePhase.ts'

const open: Seen = { phase: 'open', done: false, merged: null }
const todo: Present = { state: 'open', done: false, merged: null, begun: false }
const done: Present = { ...todo, done: true }
const closed = (present: Present): Present => ({ ...present, state: 'closed' })
const nothing = { card: null }

test.each<[string, Seen, Present, Decision]>([
  ['nothing has changed', open, todo, { phase: 'open', ...nothing }],
  ['the card is done', open, done, { phase: 'closing', ...nothing }],
  ["the card's pull request was merged", open, { ...todo, merged: 4 }, { phase: 'closing', ...nothing }],
  ['the same merge was known', { ...open, merged: 4 }, { ...todo, merged: 4 }, { phase: 'open', ...nothing }],
  ['both sides closed', open, closed(done), { phase: 'closedElsewhere', ...nothing }],
  [
    'the forge did not answer the close',
    { ...open, phase: 'closing', done: true },
    done,
    { phase: 'closing', ...nothing },
  ],
  [
    'the answer to the close was lost',
    { ...open, phase: 'closing', done: true },
    closed(done),
    { phase: 'closedByBoard', ...nothing },
  ],
  [
    'the card came back before the close',
    { ...open, phase: 'closing', done: true },
    todo,
    { phase: 'open', ...nothing },
  ],
  [
    'the card came back after the close',
    { ...open, phase: 'closedByBoard', done: true },
    closed(todo),
    { phase: 'reopening', ...nothing },
  ],
  [
    'the forge did not answer the reopening',
    { ...open, phase: 'reopening' },
    closed(todo),
    { phase: 'reopening', ...nothing },
  ],
  ['the answer to the reopening was lost', { ...open, phase: 'reopening' }, todo, { phase: 'open', ...nothing }],
  [
    'the card came back, but users of the forge have closed the issue',
    { ...open, phase: 'closedElsewhere', done: true },
    closed(todo),
    { phase: 'closedElsewhere', ...nothing },
  ],
  ['the forge closed it', open, closed(todo), { phase: 'closedElsewhere', card: 'finish' }],
  [
    'the forge closed it while an agent works',
    open,
    closed({ ...todo, begun: true }),
    { phase: 'closedElsewhere', ...nothing },
  ],
  ['the forge reopened it', { ...open, phase: 'closedByBoard', done: true }, done, { phase: 'open', card: 'return' }],
  [
    'the forge reopened an issue of a card that is not done',
    { ...open, phase: 'closedElsewhere' },
    todo,
    { phase: 'open', ...nothing },
  ],
  [
    'the board closed it, and nothing has changed since',
    { ...open, phase: 'closedByBoard', done: true },
    closed(done),
    { phase: 'closedByBoard', ...nothing },
  ],
  [
    'a missing issue appears again',
    { ...open, phase: 'missing' },
    closed(todo),
    { phase: 'closedElsewhere', ...nothing },
  ],
  ['a missing issue appears again, open', { ...open, phase: 'missing' }, todo, { phase: 'open', ...nothing }],
])('%s', (_, seen, present, decision) => {
  expect(decideIssuePhase(seen, present)).toEqual(decision)
})
