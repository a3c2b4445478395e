import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ApiFailure } from '../../src/client/failures.ts'
import { startIssueBoard, type Card, type IssueBoard } from '../support/forge/issueBoard.ts'

let board: IssueBoard
beforeEach(async () => {
  board = await startIssueBoard({ comments: true, config: { logLevel: 'silent' as never } })
})
afterEach(() => board.close())

async function taken(title: string): Promise<Card> {
  const { number } = board.forge.openIssue({ title, labels: ['board'] })
  await board.sync()
  return board.cardOf(number)
}
const problem = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    ({ code }: { code: string }) => code,
  )
const state = async () => (await board.client.issues.list({ projectId: board.projectId })).sync
const say = ({ id: cardId }: Card, body: string) =>
  board.client.comments.create({ projectId: board.projectId, cardId, body })

describe('a forge that fails', () => {
  test('loses no change while it is offline, and receives all once it is back', async () => {
    const card = await taken('Away')
    const { number } = card.issue!
    board.forge.fail({ status: 502, times: 1000 })
    await say(card, 'First')
    await say(card, 'Second')
    await board.move(card, 'done')
    expect(await problem(board.sync())).toBe('FORGE_UNAVAILABLE')
    expect((await state()).problem).toContain('502')
    expect(board.forge.issue(number).state).toBe('open')
    board.forge.behave()
    await board.sync()
    await board.sync()
    expect((await state()).problem).toBeNull()
    expect(board.forge.issue(number).state).toBe('closed')
    expect(board.saidThere(number)).toEqual([
      'board-bot: **Local operator**:\n\nFirst',
      'board-bot: **Local operator**:\n\nSecond',
      'board-bot: This is done.',
    ])
  })

  test('is not polled before the time that it specifies', async () => {
    await taken('Limited')
    board.forge.fail({ limit: { kind: 'secondary', seconds: 3600 }, times: 1 })
    const refused = (await board.sync().catch((error: unknown) => error)) as ApiFailure
    expect(refused.code).toBe('FORGE_UNAVAILABLE')
    const [, until] = /^GitHub accepts no more requests before (\S+)\.$/.exec(refused.message)!
    expect(Math.abs(Date.now() + refused.retryAfterSecs! * 1000 - Date.parse(until!))).toBeLessThan(60_000)
    const { nextAt } = await state()
    expect(Date.parse(nextAt!) - Date.now()).toBeGreaterThan(3_500_000)
    const asked = board.forge.requests.length
    await board.move((await board.cards())[0]!, 'done')
    await board.server.app.timer.reconcile()
    expect(board.forge.requests).toHaveLength(asked)
  })

  test.each([
    ['a lost response', { loseAnswer: true }],
    ['an interrupted response', { cutOff: true }],
  ])('gets a write only once after %s', async (_, fault) => {
    const card = await taken('Lost')
    const { number } = card.issue!
    for (const match of [/^POST .*comments/, /^PATCH .*issues/]) {
      board.forge.fail({ ...fault, match, times: 2 })
      await say(card, `About ${match.source}`)
      await board.move(card, match.source.startsWith('^POST') ? 'backlog' : 'done')
      for (let visits = 0; visits < 6; visits++) await problem(board.sync())
    }
    expect(board.forge.issue(number).state).toBe('closed')
    expect(board.saidThere(number)).toHaveLength(3)
    expect(new Set(board.saidThere(number)).size).toBe(3)
    expect(await board.said(card)).toHaveLength(2)
  })

  test('that rejects one issue does not block others, and the rejected issue is reported', async () => {
    const [locked, other] = [await taken('Locked'), await taken('Other')]
    board.forge.fail({ match: new RegExp(`^POST .*issues/${locked.issue!.number}/comments`), status: 403, times: 100 })
    await say(locked, 'Hello')
    await board.move(locked, 'done')
    await board.move(other, 'done')
    await board.sync()
    expect(board.forge.issue(locked.issue!.number).state).toBe('closed')
    expect(board.forge.issue(other.issue!.number).state).toBe('closed')
    const { items } = await board.client.issues.list({ projectId: board.projectId })
    expect(items.map(({ problem: why }) => why?.includes('403') ?? false)).toEqual([true, false])
  })
})
