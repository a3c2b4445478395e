import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { add, change } from '../../src/domain/forges/pullRequests.ts'
import { startAgentBoard, type AgentBoard, type Card } from '../support/agents/agentBoard.ts'

let board: AgentBoard
const script =
  'echo $$ > one; git add one; git commit -q -m one; echo $$ > two; printf "\\000\\001" > binary; git add .; git commit -q -m two'
beforeAll(async () => {
  board = await startAgentBoard({ commits: { protocol: 'command', command: ['sh', '-c', script] } })
})
afterAll(() => board.close())

const git = (...args: string[]) =>
  execFileSync('git', ['-C', board.path, '-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args], {
    encoding: 'utf8',
  }).trim()
const worked = async () => board.untilStatus((await board.start('commits')).id, 'completed')
const place = ({ id }: Card) => ({ projectId: board.projectId, cardId: id })
const commit = (name: string) => {
  writeFileSync(join(board.path, name), `${name}\n`)
  git('add', name)
  git('commit', '-q', '-m', name)
}
const remove = (card: Card) =>
  board.client.cards.delete(place(card)).then(
    () => 'gone',
    ({ code }: { code: string }) => code,
  )

test('work that was squashed into its base is detected, and its worktree can be removed; other work remains', async () => {
  const [squashed, picked, own] = [await worked(), await worked(), await worked()]
  commit('before')
  git('merge', '-q', '--squash', squashed.gitBranch!)
  git('commit', '-q', '-m', 'All of it')
  git('rm', '-q', 'one', 'two', 'binary')
  git('commit', '-q', '-m', 'Not yet')
  git('cherry-pick', `${picked.gitBranch!}~1`, picked.gitBranch!)
  commit('after')
  const { updated, remark } = await board.client.branches.update(place(squashed))
  expect([updated, remark]).toEqual([false, expect.stringContaining('already in main')])
  expect((await board.card(squashed.id)).lastAgentAction).toMatchObject({
    type: 'landed',
    detail: expect.stringContaining('already in main') as string,
  })
  expect(await remove(squashed)).toBe('gone')
  expect(await remove(picked)).toBe('gone')
  expect(await remove(own)).toBe('WORKTREE_DIRTY')
})

test('the worktree of merged work is removed without its card, and other work is not', async () => {
  const [squashed, own] = [await worked(), await worked()]
  git('merge', '-q', '--squash', squashed.gitBranch!)
  git('commit', '-q', '-m', 'All of that')
  await board.client.branches.update(place(squashed))
  const paths = () => git('worktree', 'list', '--porcelain')
  const remove = (card: Card) => board.client.cards.detachWorktree({ ...place(card), remove: true })
  await expect(remove(own)).rejects.toMatchObject({ code: 'WORKTREE_DIRTY' })
  expect(paths()).toContain(`refs/heads/${squashed.gitBranch}`)
  const request = {
    number: 1,
    url: null,
    title: 'Roof',
    base: 'main',
    branch: squashed.gitBranch!,
    draft: false,
  } as const
  const { db } = board.server.app
  const row = await db.transaction(tx =>
    add(tx, { ...request, cardId: Number(squashed.id), state: 'open', autoMerge: false, mergeMethod: 'merge' }),
  )
  await expect(remove(squashed)).rejects.toMatchObject({ code: 'CONFLICT' })
  await db.transaction(tx => change(tx, row, { state: 'closed' }))
  // Without `remove`, only an attached worktree is removed.
  await expect(board.client.cards.detachWorktree(place(squashed))).rejects.toMatchObject({ code: 'CONFLICT' })
  await remove(squashed)
  expect(paths()).not.toContain(`refs/heads/${squashed.gitBranch}`)
  expect(paths()).toContain(`refs/heads/${own.gitBranch}`)
  expect((await board.card(squashed.id)).lastAgentAction).toBeNull()
  await expect(remove(squashed)).rejects.toMatchObject({ code: 'CONFLICT' })
})
