import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
const writes = (name: string) => ({ protocol: 'command' as const, command: ['sh', '-c', `ls; echo ${name} > ${name}`] })
beforeAll(async () => {
  board = await startAgentBoard({
    first: writes('first'),
    second: writes('second'),
    lasting: { protocol: 'command', command: ['sh', '-c', 'echo early > early; sleep 600'] },
  })
})
afterAll(() => board.close())

const git = (...args: string[]) => execFileSync('git', ['-C', board.path, ...args], { encoding: 'utf8' }).trim()
/** The files that a card has changed, committed or not. */
const filesOf = async (cardId: string): Promise<string[]> => {
  const { diff } = await board.client.agents.diff({ projectId: board.projectId, cardId })
  return [...diff.matchAll(/^\+\+\+ b\/(.*)$/gm)].map(([, path]) => path!)
}
const texts = async (cardId: string) => (await board.messages(cardId)).map(({ content }) => content).join('\n')
const code = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    (error: { code: string; details?: Array<{ path: string }> }) => error.details?.[0]?.path ?? error.code,
  )

test('a card starts at the branch of another one, including its uncommitted changes', async () => {
  const first = await board.start('first', { title: 'First' })
  const { gitBranch } = await board.untilStatus(first.id, 'completed')
  const { id } = await board.start('second', { baseCardId: first.id })
  await board.untilStatus(id, 'completed')
  expect(await texts(id)).toContain(`The base is the branch of card ${first.id}.`)
  // The diff contains only its own changes; the other's are part of its base.
  expect(await filesOf(id)).toEqual(['second'])
  expect(await texts(id)).toMatch(/^first$/m)
  expect(git('log', '-1', '--format=%s', gitBranch!)).toBe('First')
  expect(await filesOf(first.id)).toEqual(['first'])

  await board.client.agents.merge({ projectId: board.projectId, cardId: id })
  expect(git('ls-tree', '--name-only', 'HEAD').split('\n')).toEqual(expect.arrayContaining(['first', 'second']))
})

test('a card whose base has no branch starts at that of the project, and reports it', async () => {
  const other = await board.client.cards.create({ projectId: board.projectId, title: 'Never begun' })
  const { id } = await board.start('second', { baseCardId: other.id })
  await board.untilStatus(id, 'completed')
  expect(await texts(id)).toContain(`Card ${other.id} has no branch, so the base is that of the project.`)
})

test('nothing is committed in the worktree of a running agent', async () => {
  const { id: lastingId } = await board.start('lasting')
  await eventually('its first file', () =>
    filesOf(lastingId).then(
      files => files.includes('early'),
      () => false,
    ),
  )
  const { gitBranch } = await board.card(lastingId)
  const tip = git('rev-parse', gitBranch!)
  const { id } = await board.start('second', { baseCardId: lastingId })
  await board.untilStatus(id, 'completed')
  expect(git('rev-parse', gitBranch!)).toBe(tip)
  await board.client.agents.cancel({ projectId: board.projectId, cardId: lastingId })
})

test.each(['refs', 'tag', 'commit'])('a card starts at a branch, tag or commit that it names: %s', async kind => {
  const tree = git('rev-parse', 'HEAD^{tree}')
  const commit = git('-c', 'user.name=T', '-c', 'user.email=t@example.org', 'commit-tree', tree, '-m', kind)
  git('update-ref', 'refs/heads/release/2.0', commit)
  git('tag', '-f', 'v2', commit)
  const base = { refs: 'release/2.0', tag: 'v2', commit: commit.slice(0, 10) }[kind]!
  const { id } = await board.start('second', { base })
  const { gitBranch } = await board.untilStatus(id, 'completed')
  expect(git('rev-parse', gitBranch!)).toBe(commit)
})

test('a name that the repository does not have fails the start with that name, and can be changed', async () => {
  const { id } = await board.start('second', { base: 'mian' })
  const card = await board.untilStatus(id, 'failed')
  expect(card.statusReason).toBe('launch_failed')
  expect(card.lastAgentAction?.detail).toContain('no branch, tag or commit mian')
  await board.client.cards.update({ projectId: board.projectId, cardId: id, base: null })
  await board.client.agents.retry({ projectId: board.projectId, cardId: id })
  await board.untilStatus(id, 'completed')
})

test('the base is one name or one other card, and cannot be changed once there is a branch', async () => {
  const { projectId } = board
  const make = (card: object) => board.client.cards.create({ projectId, title: 'x', deferred: true, ...card })
  const { id: otherId } = await make({})
  expect(await code(make({ base: 'main', baseCardId: otherId }))).toBe('baseCardId')
  for (const base of ['-q', 'a..b', 'HEAD~1', 'a b', '', 'x@{1}', '/a', 'a.lock', 'a\nb'])
    expect([base, await code(make({ base }))]).toEqual([base, 'base'])
  const { id } = await make({ base: 'main' })
  const change = (fields: object) => board.client.cards.update({ projectId, cardId: id, ...fields })
  expect(await code(change({ baseCardId: id }))).toBe('baseCardId')
  expect(await change({ baseCardId: otherId })).toMatchObject({ base: null, baseCardId: otherId })
  expect(await change({ base: 'main' })).toMatchObject({ base: 'main', baseCardId: null })
  await board.client.cards.move({ projectId, cardId: id, columnId: board.columns.active })
  await board.until(id, 'a branch', card => card.gitBranch !== null)
  expect(await code(change({ base: null }))).toBe('CONFLICT')
})
