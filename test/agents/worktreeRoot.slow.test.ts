import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { periodicJobs } from '../../daemon/process/periodicJobs.ts'
import { takeWorktreeRoots } from '../../src/worktrees/worktreeRoot.ts'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { eventually } from '../support/waiting/eventually.ts'

let folder: string
let board: AgentBoard
const [former, root] = [() => join(folder, 'all/former'), () => join(folder, 'all/worktrees')]
beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'board-root-')))
  for (const name of ['data', 'all']) mkdirSync(join(folder, name))
  const dataDir = join(folder, 'data')
  takeWorktreeRoots({ dataDir, worktreeRoot: former() })
  mkdirSync(join(former(), '1/1'), { recursive: true })
  writeFileSync(join(former(), '1/1/theirs'), 'secret')
  board = await startAgentBoard(
    {},
    { dataDir, worktreeRoot: root(), browseRoot: folder, sandbox: hasBubblewrap ? 'require' : 'off' },
  )
})
afterAll(async () => {
  await board.close()
  rmSync(folder, { recursive: true, force: true })
})

const run = async (command: string, projectId = board.projectId, columnId = board.columns.active) => {
  const { id: cardId } = await board.client.cards.create({
    projectId,
    title: 'Shell',
    kind: 'terminal',
    command,
    columnId,
  })
  await eventually('the end of the command', async () =>
    ['completed', 'failed'].includes((await board.client.cards.get({ projectId, cardId })).status),
  )
  return cardId
}
const below = (projectId: string, cardId: string) => join(root(), projectId, cardId)

test('cards work below the worktree root, which is hidden from users who browse its parent folder', async () => {
  const cardId = await run('echo made > made; pwd > where')
  expect(readFileSync(join(below(board.projectId, cardId), 'made'), 'utf8')).toBe('made\n')
  expect(readFileSync(join(below(board.projectId, cardId), 'where'), 'utf8').trim()).toBe(
    below(board.projectId, cardId),
  )
  expect(existsSync(join(board.dataDir, 'worktrees', board.projectId))).toBe(false)
  const names = async (path: string) => (await board.client.filesystem.browse({ path })).entries.map(({ name }) => name)
  expect(await names(folder)).toEqual(['all'])
  expect(await names(join(folder, 'all'))).toEqual([])
  const refused = await board.request('GET', `/api/filesystem/read?path=${join(former(), '1/1/theirs')}`)
  expect(refused.status).toBe(404)
})

describe.skipIf(!hasBubblewrap)('in the sandbox', () => {
  test("a project's folder that holds the data folder and worktrees shows neither, and a worktree shows no other worktree", async () => {
    const first = await run('echo secret > theirs')
    const { id } = await board.client.projects.create({ name: 'Around', path: folder })
    const active = (await board.client.columns.list({ projectId: id }))[1]!.id
    await run(
      `cd all; ls worktrees former ../data > listed 2>&1; cat worktrees/${board.projectId}/${first}/theirs former/1/1/theirs ../data/daemon.json > stolen 2> /dev/null; true`,
      id,
      active,
    )
    expect(readFileSync(join(folder, 'all/listed'), 'utf8')).toBe('../data:\nagents\n\nformer:\n\nworktrees:\n')
    expect(readFileSync(join(folder, 'all/stolen'), 'utf8')).toBe('')
    const second = await run(`cat ../${first}/theirs > stolen; ls .. > listed; true`)
    expect(readFileSync(join(below(board.projectId, second), 'stolen'), 'utf8')).toBe('')
    expect(readFileSync(join(below(board.projectId, second), 'listed'), 'utf8').trim()).toBe(second)
    await board.client.projects.delete({ id })
  })
})

test('a deleted project leaves no worktree below the root, and work that only its worktrees had is kept', async () => {
  const cardId = await run('echo kept > kept')
  await board.client.projects.delete({ id: board.projectId })
  const clearUp = () =>
    periodicJobs(board.server.app)
      .find(({ name }) => name.startsWith('remove worktrees of projects'))!
      .run(new AbortController().signal)
  await eventually('the end of all worktrees', async () => {
    await clearUp()
    return !existsSync(join(root(), board.projectId))
  })
  const patch = readdirSync(join(board.dataDir, 'patches')).find(name => name.startsWith(`card-${cardId}-`))
  expect(readFileSync(join(board.dataDir, 'patches', patch!), 'utf8')).toContain('+kept')
})
