import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Card } from '../support/agents/agentBoard.ts'
import { startRequestBoard, type RequestBoard } from '../support/agents/requestBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { recordGit, type GitRuns } from '../support/git/recordGit.ts'

let board: RequestBoard
beforeAll(async () => {
  board = await startRequestBoard({ requested: { fixture: 'requested' } })
  board.forge.protect({ approvals: 1 })
})
let recorded: GitRuns | undefined
afterAll(async () => {
  recorded?.stop()
  await board.close()
})

const told = async ({ id }: Card) =>
  (await board.messages(id)).filter(({ role, content }) => role === 'user' && content.includes('conflicts with it'))

test('a conflict with the pushes of others is tried once, and again when one side changes or a user resumes it', async () => {
  const { forge, client, projectId, git } = board
  const card = await board.opened()
  // Others can push before the board first reads the request.
  expect((await board.pull(card)).pushedCommit).toMatch(/^[0-9a-f]{40}$/)
  const stops = () => board.untilPull(card, 'its stop', ({ stopped }) => /conflicts in work\.txt/.test(stopped ?? ''))
  const { worktreePath } = (await board.server.app.db.get<{ worktreePath: string }>(
    'SELECT worktree_path AS worktreePath FROM cards WHERE id = ?',
    [Number(card.id)],
  ))!
  const mine = (text: string) => {
    writeFileSync(join(worktreePath, 'work.txt'), text)
    git('-C', worktreePath, 'commit', '-q', '-a', '-m', 'Change it by hand')
  }
  const runs = (recorded = recordGit(board.folder('recorded')))
  // The forge of the tests merges with other options.
  const merges = () => runs.runs().filter(each => each.includes('merge-tree --write-tree -z')).length
  const tried = (times: number) => eventually(`merge ${times}`, () => merges() >= times || undefined)
  mine('mine\n')
  forge.push(card.gitBranch!, { 'work.txt': 'theirs\n' })
  await stops()
  await board.looks(card, 4)
  expect(merges()).toBe(1)

  const head = forge.push(card.gitBranch!, { 'work.txt': 'theirs again\n' })
  await tried(2)
  await board.looks(card, 4)
  expect(merges()).toBe(2)

  await client.pullRequests.continue({ projectId, cardId: card.id })
  await tried(3)
  await stops()
  await board.looks(card, 4)
  expect(merges()).toBe(3)

  mine('theirs again\n')
  await board.untilPull(card, 'both together', each => each.pushedCommit === head && each.stopped === null)
  expect(merges()).toBe(4)
  runs.stop()
  await client.cards.delete({ projectId, cardId: card.id, force: true })
})

test('a request with a conflicting base is offered to its agent with the conflict, in a limited number of rounds, and then merged', async () => {
  const { forge, client, projectId } = board
  await client.projects.update({ id: projectId, forge: { maxRounds: 1 } })
  const card = await board.opened('requested', { autoMerge: true })
  const place = { projectId, cardId: card.id }
  const { number } = await board.pull(card)
  const first = forge.pull(number!).headSha
  const theirs = forge.push('main', { 'work.txt': 'theirs\n' }, 'Put up a tent')
  const second = await board.nextHead(card, first)
  expect(forge.repository.contains(second, theirs)).toBe(true)
  expect(forge.repository.read(second, 'work.txt')).toBe('both')
  const [message] = await told(card)
  expect(message!.content).toContain('> "work.txt"')
  expect(message!.content).toContain('> Put up a tent')

  const more = forge.push('main', { 'work.txt': 'theirs\nonce more\n' })
  await board.untilPull(card, 'its stop', ({ stopped }) => /worked on it once/.test(stopped ?? ''))
  expect(forge.pull(number!).headSha).toBe(second)
  expect(await told(card)).toHaveLength(1)

  await client.pullRequests.continue(place)
  const third = await board.nextHead(card, second)
  expect(forge.repository.contains(third, more)).toBe(true)
  forge.approve(number!)
  await board.until(card.id, 'its end', ({ columnName }) => columnName === 'Done')
  expect(forge.repository.read('main', 'work.txt')).toBe('both')
})
