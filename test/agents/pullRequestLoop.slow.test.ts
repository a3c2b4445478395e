import { existsSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Card } from '../support/agents/agentBoard.ts'
import { startRequestBoard, type RequestBoard } from '../support/agents/requestBoard.ts'

let board: RequestBoard
beforeAll(async () => {
  board = await startRequestBoard({
    requested: { fixture: 'requested' },
    lazy: { fixture: 'requested', env: { REQUESTED_LAZY: '1' } },
  })
})
afterAll(() => board.close())
beforeEach(() => board.forge.behave())

const numberOf = async (card: Card) => (await board.pull(card)).number!
const head = async (card: Card) => board.forge.pull(await numberOf(card)).headSha
const workOf = (commit: string) => board.forge.repository.read(commit, 'work.txt')

describe('a request', () => {
  test('continues through a failing check and a review until it is merged and its card done', async () => {
    const { forge } = board
    const card = await board.opened()
    const number = await numberOf(card)
    const first = await head(card)
    forge.setCheck(first, 'build', 'running')
    forge.setCheck(first, 'build', 'failure', 'compiling\nerror: no roof\nfailed\n')
    const second = await board.nextHead(card, first)
    expect(workOf(second)).toBe('one\nfixed')
    const said = (await board.messages(card.id)).filter(({ role }) => role === 'user').map(({ content }) => content)
    expect(said.at(-1)).toContain('> error: no roof')
    expect(said.at(-1)).toContain('round 1 of 5')
    forge.setCheck(second, 'build', 'success')
    forge.review(
      number,
      'ann',
      'changes_requested',
      [
        { path: 'work.txt', line: 1, body: 'Why one?' },
        { path: 'work.txt', line: 2, body: 'Fixed what?' },
      ],
      'Not yet.',
    )
    const third = await board.nextHead(card, second)
    expect(workOf(third)).toBe('one\nfixed\nreviewed')
    await expect
      .poll(() => forge.state.lineComments.filter(({ author }) => author === forge.login).map(({ body }) => body))
      .toEqual(['Done: Why one?', 'Done: Fixed what?'])
    forge.setCheck(third, 'build', 'success')
    forge.approve(number)
    await board.untilPull(card, 'the approval', ({ reviews }) => reviews.includes('approved'))
    expect((await board.card(card.id)).columnName).toBe('In Progress')
    forge.squashByHand(number)
    const { worktreePath } = (await board.server.app.db.get<{ worktreePath: string }>(
      'SELECT worktree_path AS worktreePath FROM cards WHERE id = ?',
      [Number(card.id)],
    ))!
    const done = await board.until(card.id, 'its end', ({ columnName }) => columnName === 'Done')
    expect(done.pullRequest).toMatchObject({ state: 'merged' })
    expect(done).toMatchObject({ mergedAt: expect.any(String) as string, mergedInto: 'main' })
    expect(done.mergedCommit).toMatch(/^[0-9a-f]{40}$/)
    await expect.poll(() => existsSync(worktreePath)).toBe(false)
    expect((await board.pull(card)).rounds).toBe(2)
  })
})
