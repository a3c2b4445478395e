import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { periodicJobs } from '../../daemon/process/periodicJobs.ts'
import { listOrphans } from '../../src/store/projects/orphanedWorktrees.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { makeRepository, startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

let board: AgentBoard
beforeAll(async () => {
  board = await startAgentBoard({ good: { fixture: 'well-behaved' }, forever: { fixture: 'forever' } })
})
afterAll(() => board.close())

const clearUp = () =>
  periodicJobs(board.server.app)
    .find(({ name }) => name.startsWith('remove worktrees of projects'))!
    .run(new AbortController().signal)
const worktrees = () => join(board.dataDir, 'worktrees')
const countOrphans = async () => (await listOrphans(board.server.app.db)).length
const cleanupsTold = async () =>
  JSON.stringify(await board.client.logs.list({ search: 'cleanup of a worktree failed' }))
/** The agent of a card that is just completed might still be ending. */
const untilCleared = () =>
  eventually('the removal of all worktrees', async () => {
    await clearUp()
    return (await countOrphans()) === 0
  })
const patchOf = (cardId: string) => {
  const [name] = readdirSync(join(board.dataDir, 'patches')).filter(each => each.startsWith(`card-${cardId}-`))
  return readFileSync(join(board.dataDir, 'patches', name!), 'utf8')
}
const git = (path: string, ...args: string[]) =>
  execFileSync('git', ['-C', path, '-c', 'user.name=Test', '-c', 'user.email=test@example.org', ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })

async function newProject(name: string) {
  const path = makeRepository(board.folder(name))
  const { id: projectId } = await board.client.projects.create({ name, path })
  const columns = await board.client.columns.list({ projectId })
  const start = async (agent: string, columnId = columns[1]!.id) => {
    const { id: cardId } = await board.client.cards.create({
      projectId,
      title: 'Work',
      prompt: 'Do it.',
      columnId,
      agent,
    })
    const status = agent === 'forever' ? 'running' : 'completed'
    await eventually(
      `the status ${status} and a worktree`,
      async () =>
        (await board.client.cards.get({ projectId, cardId })).status === status && existsSync(worktree(cardId)),
      15_000,
    )
    return cardId
  }
  const worktree = (cardId: string) => join(worktrees(), projectId, cardId)
  return { path, projectId, start, worktree }
}

test('a project without worktrees leaves none to remove', async () => {
  const { id } = await board.client.projects.create({ name: 'Without', path: board.folder('without') })
  await board.client.projects.delete({ id })
  expect(await countOrphans()).toBe(0)
})

test('a deleted project leaves no worktree, and work that only its worktrees had is kept', async () => {
  const { path, projectId, start, worktree } = await newProject('Left')
  const [changed, committed] = [await start('good'), await start('good')]
  git(worktree(committed), 'add', '--all')
  git(worktree(committed), 'commit', '--quiet', '--message', 'Mine')
  await board.client.projects.delete({ id: projectId })
  expect([existsSync(worktree(changed)), await countOrphans()]).toEqual([true, 2])
  await untilCleared()
  expect(existsSync(join(worktrees(), projectId))).toBe(false)
  expect([patchOf(changed), patchOf(committed)]).toEqual([
    expect.stringContaining('+hello from turn 1'),
    expect.stringContaining('Subject: [PATCH] Mine'),
  ])
  expect(git(path, 'branch', '--format=%(refname:short)').trim().split('\n')).toEqual([
    `board/${committed}-work`,
    'main',
  ])
  expect(git(path, 'worktree', 'list').trim().split('\n')).toHaveLength(1)
})

test('a deleted board leaves no worktree of its cards, and those of other boards remain', async () => {
  const { projectId, start, worktree } = await newProject('Boards')
  const { id: boardId } = await board.client.boards.create({ projectId, name: 'Second' })
  const columns = await board.client.columns.list({ projectId, boardId })
  const [mine, other] = [await start('good', columns[1]!.id), await start('good')]
  await board.client.boards.delete({ projectId, boardId })
  await untilCleared()
  expect([existsSync(worktree(mine)), existsSync(worktree(other))]).toEqual([false, true])
  expect(patchOf(mine)).toContain('+hello from turn 1')
})

test('the worktree of an ending agent is kept until the agent has ended', async () => {
  const { projectId, start, worktree } = await newProject('Ending')
  const cardId = await start('forever')
  const live = () => board.server.app.supervisor.isAtWork(Number(cardId))
  expect(live()).toBe(true)
  await board.client.projects.delete({ id: projectId })
  await eventually('the end of the agent', async () => {
    await clearUp()
    if (live()) expect(existsSync(worktree(cardId))).toBe(true)
    return !live()
  })
  await board.untilNoneRuns()
  await untilCleared()
  expect(existsSync(worktree(cardId))).toBe(false)
})

test('a worktree whose work cannot be saved stays, and blocks no other', async () => {
  const { projectId, start, worktree } = await newProject('Beside')
  const [changed, clean] = [await start('good'), await start('good')]
  git(worktree(clean), 'checkout', '--quiet', '.')
  git(worktree(clean), 'clean', '--quiet', '-fd')
  const patches = join(board.dataDir, 'patches')
  mkdirSync(patches, { recursive: true })
  renameSync(patches, `${patches}-away`)
  writeFileSync(patches, 'no folder')
  await board.client.projects.delete({ id: projectId })
  // The agents of completed cards might still be ending.
  const failure = await eventually('the removal of the other worktree', async () => {
    const error: unknown = await clearUp().catch((reason: unknown) => reason)
    return (await countOrphans()) === 1 && error
  })
  expect(failure).toMatchObject({ message: 'The worktrees of 1 deleted cards could not be removed.' })
  expect([existsSync(worktree(changed)), existsSync(worktree(clean))]).toEqual([true, false])
  rmSync(patches)
  renameSync(`${patches}-away`, patches)
  await untilCleared()
  expect(patchOf(changed)).toContain('+hello from turn 1')
})

test("before a worktree is removed, its project's approved cleanup runs there, and its failure does not block", async () => {
  const { path, projectId, start, worktree } = await newProject('Cleaned')
  writeFileSync(
    join(path, 'board.json'),
    JSON.stringify({ cleanup: 'echo "$BOARD_CARD_ID at $BOARD_PORT, token <$BOARD_TOKEN>"; exit 3', ports: 1 }),
  )
  const { boardFile } = await board.client.projects.getWorktree({ id: projectId })
  await board.client.projects.agreeToBoardFile({ id: projectId, version: boardFile!.version! })
  const cardId = await start('good')
  await board.client.projects.delete({ id: projectId })
  await untilCleared()
  expect(existsSync(worktree(cardId))).toBe(false)
  expect(await cleanupsTold()).toMatch(new RegExp(`exit code 3.*${cardId} at \\d{5}, token <>`))
})

test('an unapproved cleanup does not run, and a project with a missing folder does not keep its worktrees', async () => {
  const { path, projectId, start, worktree } = await newProject('Changed')
  const cardId = await start('good')
  await board.client.projects.update({ id: projectId, worktree: { ports: 1 } })
  writeFileSync(join(path, 'board.json'), JSON.stringify({ cleanup: 'exit 4' }))
  await board.client.projects.delete({ id: projectId })
  await untilCleared()
  expect(existsSync(worktree(cardId))).toBe(false)
  expect(await cleanupsTold()).not.toContain('exit code 4')
})
