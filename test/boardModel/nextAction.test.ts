import { describe, expect, test } from 'vitest'
import { nextActionOf, showsAgent } from '../../src/boardModel/nextAction.ts'
import { stopwatchText } from '../../src/boardModel/stopwatchText.ts'

type Worked = Parameters<typeof nextActionOf>[0]

const idle: Worked = {
  status: 'idle',
  statusReason: null,
  monitorQuestions: 0,
  hasActiveAgent: false,
  mergedInto: null,
  pullRequest: null,
  reviewState: null,
}
const request: Worked['pullRequest'] = {
  number: 1,
  url: null,
  state: 'open',
  draft: false,
  checks: null,
  review: null,
}
const waiting: Partial<Worked> = { status: 'waiting', hasActiveAgent: true }
const completed: Partial<Worked> = { status: 'completed' }

describe('the next action on a card', () => {
  test.each<[string, Partial<Worked>, number, ReturnType<typeof nextActionOf>]>([
    ['an idle card', {}, 0, undefined],
    ['a running agent', { status: 'running', hasActiveAgent: true }, 3, undefined],
    ['an open question', waiting, 0, 'answer'],
    ['a turn that ended with a question', { ...waiting, statusReason: 'question' }, 0, 'answer'],
    ['an exhausted budget', { ...waiting, statusReason: 'budget' }, 0, undefined],
    ["a monitor's question", { monitorQuestions: 1 }, 0, 'answer'],
    ['a failed agent', { status: 'failed' }, 2, 'retry'],
    ['an interrupted agent', { status: 'interrupted' }, 0, 'retry'],
    ['an agent that the user cancelled', { status: 'cancelled' }, 2, undefined],
    ['finished work with changes', completed, 1, 'review'],
    ['finished work without changes', completed, 0, undefined],
    ['finished work after requested changes', { ...completed, reviewState: 'changes_requested' }, 1, 'review'],
    ['approved work', { ...completed, reviewState: 'approved' }, 1, 'merge'],
    ['merged work', { ...completed, reviewState: 'approved', mergedInto: 'main' }, 1, undefined],
    ['work in a pull request', { ...completed, pullRequest: request }, 1, undefined],
  ])('of %s: %j with %i changed files is %s', (_, card, filesChanged, action) => {
    expect(nextActionOf({ ...idle, ...card }, filesChanged)).toBe(action)
  })

  test.each<[Partial<Worked>, string, boolean]>([
    [{}, 'active', false],
    [{ status: 'queued', hasActiveAgent: true }, 'active', true],
    [{ status: 'failed' }, 'done', true],
    [{ status: 'cancelled' }, 'active', false],
    [completed, 'active', true],
    [completed, 'done', false],
    [{ ...completed, mergedInto: 'main' }, 'active', false],
  ])('the agent of %j in a column of type %s is shown: %s', (card, columnType, isShown) => {
    expect(showsAgent({ ...idle, ...card }, columnType)).toBe(isShown)
  })
})

test.each([
  [-1000, '0:00'],
  [42_900, '0:42'],
  [725_000, '12:05'],
  [3_727_000, '1:02:07'],
])('a stopwatch shows %i ms as %s', (ms, text) => {
  expect(stopwatchText(ms)).toBe(text)
})
