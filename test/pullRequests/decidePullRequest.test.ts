import { describe, expect, test } from 'vitest'
import type { PullRequestPhase, PullRequestRow } from '../../src/store/forges/pullRequests.ts'
import { followState, handOver, isHeld, resumedPhase } from '../../src/domain/forges/pullRequestPhases.ts'
import {
  canResume,
  decideAction,
  decideBackoffMs,
  decideHead,
  decideTurnEnd,
  decideWaitMs,
} from '../../src/pullRequests/decidePullRequest.ts'

const now = '2026-03-01T12:00:00.000Z'
const minutesAgo = (minutes: number): string => new Date(Date.parse(now) - minutes * 60_000).toISOString()
const phases: readonly PullRequestPhase[] = [
  'watching',
  'working',
  'pushing',
  'handedOver',
  'movingCard',
  'removingWorktree',
  'finished',
]
const check = (state: string) => JSON.stringify([{ name: 'build', state, url: null }])
const review = (state: string) => JSON.stringify([{ author: 'ann', state, url: null }])

type Row = Parameters<typeof decideAction>[0]
const open: Row = {
  state: 'open',
  phase: 'watching',
  autoMerge: 0,
  draft: 0,
  mergeable: 1,
  checks: '[]',
  reviews: '[]',
  hadChecks: 0,
  updatedAt: now,
}
const idle = { isAgentActive: false, hasFeedback: false, now }
const feedback = { ...idle, hasFeedback: true }
const active = { ...idle, isAgentActive: true }

describe('the phase after a new state on the forge', () => {
  test.each(phases)('%s: an end leads to the work that follows it, once', phase => {
    const ended = { phase: 'movingCard', stopped: null, answers: '[]' }
    expect(followState({ state: 'open', phase }, 'merged')).toEqual(ended)
    expect(followState({ state: 'open', phase }, 'closed')).toEqual(ended)
    // A closed pull request can be reopened and merged between two reads.
    expect(followState({ state: 'closed', phase }, 'merged')).toEqual(ended)
    expect(followState({ state: 'merged', phase }, 'merged')).toEqual({})
  })

  test.each<[PullRequestPhase, object]>([
    ['movingCard', { phase: 'watching' }],
    ['removingWorktree', { phase: 'watching' }],
    ['finished', { phase: 'watching' }],
    ['handedOver', {}],
  ])('%s: a reopened pull request is watched again', (phase, fields) => {
    expect(followState({ state: 'closed', phase }, 'open')).toEqual(fields)
  })
})

test('only a pull request that was handed over changes its phase when its agent resumes', () => {
  expect(handOver('it conflicts')).toEqual({ phase: 'handedOver', stopped: 'it conflicts' })
  expect(resumedPhase({ state: 'open', phase: 'handedOver' })).toEqual({ phase: 'watching', stopped: null, rounds: 0 })
  expect(resumedPhase({ state: 'open', phase: 'handedOver' }, 'working')).toMatchObject({ phase: 'working' })
  for (const phase of phases.filter(each => each !== 'handedOver'))
    expect(resumedPhase({ state: 'open', phase })).toEqual({ stopped: null, rounds: 0 })
})

test.each<[string | null, boolean]>([
  [null, false],
  [minutesAgo(1), false],
  [now, false],
  [minutesAgo(-1), true],
])('a rate limit until %s holds reads: %s', (heldUntil, held) => {
  expect(isHeld({ heldUntil }, now)).toBe(held)
})

type Session = Parameters<typeof decideTurnEnd>[0]
test.each<[Session, ReturnType<typeof decideTurnEnd>]>([
  [{ status: 'completed', statusReason: null, detail: null }, { next: 'push' }],
  [{ status: 'interrupted', statusReason: 'server_restart', detail: null }, { next: 'retry' }],
  [
    { status: 'interrupted', statusReason: null, detail: null },
    { next: 'handOver', reason: 'Its agent was interrupted.' },
  ],
  [
    { status: 'cancelled', statusReason: null, detail: null },
    { next: 'handOver', reason: 'Its agent was cancelled.' },
  ],
  [
    { status: 'failed', statusReason: 'crashed', detail: 'no memory' },
    { next: 'handOver', reason: 'Its agent failed: no memory' },
  ],
  [
    { status: 'failed', statusReason: 'crashed', detail: null },
    { next: 'handOver', reason: 'Its agent failed.' },
  ],
  [undefined, { next: 'handOver', reason: 'Its agent was interrupted.' }],
])('a turn that ended with %o leads to %o', (session, end) => {
  expect(decideTurnEnd(session)).toEqual(end)
})

test('a head with the work of others is merged only while no agent works in the branch', () => {
  expect(decideHead('known', true)).toBe('accept')
  expect(decideHead('conflicting', false)).toBe('wait')
  expect(decideHead('unavailable', false)).toBe('wait')
  expect(decideHead('replaced', true)).toBe('handOver')
  expect(decideHead('ahead', true)).toBe('wait')
  expect(decideHead('ahead', false)).toBe('merge')
})

const auto: Row = { ...open, autoMerge: 1 }
test.each<[string, Row, typeof idle, ReturnType<typeof decideAction>]>([
  ['waiting work is pushed', { ...open, phase: 'pushing' }, feedback, 'push'],
  ['feedback resumes the agent', open, feedback, 'resumeAgent'],
  ['feedback waits for an active agent', open, { ...feedback, isAgentActive: true }, 'wait'],
  ['feedback waits for a user, if one must decide', { ...open, phase: 'handedOver' }, feedback, 'wait'],
  ['without automatic merge, a green pull request waits', { ...open, checks: check('success') }, idle, 'wait'],
  ['a green pull request is merged', { ...auto, checks: check('success') }, idle, 'merge'],
  ['one without checks is merged', auto, idle, 'merge'],
  ['one that was handed over is merged', { ...auto, phase: 'handedOver' }, idle, 'merge'],
  ['feedback comes before a merge', auto, feedback, 'resumeAgent'],
  ['a draft is not merged', { ...auto, draft: 1 }, idle, 'wait'],
  ['nothing is merged while an agent is active', auto, active, 'wait'],
  ['a failed check prevents the merge', { ...auto, checks: check('failure') }, idle, 'wait'],
  ['a running check prevents the merge', { ...auto, checks: check('pending') }, idle, 'wait'],
  ['a request for changes prevents the merge', { ...auto, reviews: review('changes_requested') }, idle, 'wait'],
  ['an approval does not', { ...auto, reviews: review('approved') }, idle, 'merge'],
  ['checks that were there before a push are awaited', { ...auto, hadChecks: 1 }, idle, 'wait'],
  ['for five minutes', { ...auto, hadChecks: 1, updatedAt: minutesAgo(6) }, idle, 'merge'],
  ['a conflict with the base is resolved', { ...auto, mergeable: 0 }, idle, 'updateBranch'],
  ['by a user, if one must decide', { ...auto, mergeable: 0, phase: 'handedOver' }, idle, 'wait'],
  ['a conflict without automatic merge waits', { ...open, mergeable: 0 }, idle, 'wait'],
])('%s', (_, row, facts, action) => {
  expect(decideAction(row, facts)).toBe(action)
})

test.each<[Partial<Row>, boolean, boolean]>([
  [{}, false, true],
  [{}, true, false],
  [{ phase: 'handedOver' }, false, false],
  [{ phase: 'working' }, false, false],
  [{ state: 'closed' }, false, false],
])('an agent can resume on %o with an active agent (%s): %s', (fields, isAgentActive, can) => {
  expect(canResume({ ...open, ...fields }, isAgentActive)).toBe(can)
})

const limits = { minMs: 1000, maxMs: 60_000 }
type Waiting = Pick<PullRequestRow, 'state' | 'phase' | 'checks' | 'updatedAt'>
test.each<[string, Partial<Waiting>, number]>([
  ['a change a moment ago', {}, 1000],
  ['half a minute of quiet', { updatedAt: minutesAgo(0.5) }, 30_000],
  ['an hour of quiet', { updatedAt: minutesAgo(60) }, 60_000],
  ['an hour of quiet with a running check', { updatedAt: minutesAgo(60), checks: check('pending') }, 2000],
  ['work that waits to be pushed', { updatedAt: minutesAgo(60), phase: 'pushing' }, 1000],
  ['an end', { updatedAt: minutesAgo(60), state: 'merged' }, 0],
])('after %s, the next read is in time', (_, fields, ms) => {
  expect(decideWaitMs({ ...open, ...fields }, now, limits)).toBe(ms)
})

test('a failing forge is queried at intervals that double, up to 15 minutes', () => {
  expect([1, 2, 3, 4].map(failures => decideBackoffMs(failures, 1000))).toEqual([2000, 4000, 8000, 16_000])
  expect(decideBackoffMs(1000, 1000)).toBe(900_000)
})
