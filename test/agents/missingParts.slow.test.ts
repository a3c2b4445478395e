import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { insertMonitor } from '../../src/store/automation/monitors.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

let board: AgentBoard
let bringBack = () => {
  /* Nothing is missing. */
}
beforeAll(async () => {
  board = await startAgentBoard({
    good: { fixture: 'well-behaved' },
    committing: {
      protocol: 'command',
      command: ['sh', '-c', 'echo work > work && git add work && git commit -qm Work && echo loose > loose'],
    },
  })
})
afterEach(() => bringBack())
afterAll(() => board.close())

function withoutFolder(): void {
  renameSync(board.path, `${board.path}.away`)
  bringBack = () => {
    renameSync(`${board.path}.away`, board.path)
    bringBack = () => {}
  }
}

/** Gives the server a path with everything that fixtures need, except Git. */
function withoutGit(): void {
  const [bin, { PATH }] = [board.folder('bin'), process.env]
  for (const program of ['sh', 'cat', 'sleep', 'true', ...(hasBubblewrap ? ['bwrap'] : [])])
    if (!existsSync(join(bin, program)))
      symlinkSync(execFileSync('which', [program], { encoding: 'utf8' }).trim(), join(bin, program))
  process.env.PATH = bin
  bringBack = () => {
    process.env.PATH = PATH
    bringBack = () => {}
  }
}

const failed = async (cardId: string) => {
  const { statusReason, lastAgentAction } = await board.untilStatus(cardId, 'failed')
  return [statusReason, lastAgentAction!.detail]
}

test("without the project's folder agents, terminals, scripts and monitors report it, and work when it is back", async () => {
  const { projectId, client } = board
  const { id: scriptId } = await client.scripts.create({ projectId, name: 'look', command: 'cat README' })
  const script = async () => (await client.scripts.status({ projectId, scriptId: Number(scriptId) }))[0]!
  const { id: watched } = await client.cards.create({
    projectId,
    title: 'Watched',
    columnId: board.columns.active,
    deferred: true,
  })
  const asAgent = board.as((await client.agents.token({ projectId, cardId: watched })).token)
  const monitorId = await board.server.app.db.transaction(tx =>
    insertMonitor(tx, {
      projectId: Number(projectId),
      cardId: Number(watched),
      command: 'cat README',
      intervalSecs: 1,
      description: null,
      cwd: board.path,
      byAgent: false,
    }),
  )
  const monitor = async () =>
    (await client.monitors.listProject({ projectId })).find(({ id }) => id === String(monitorId))!
  await eventually('a run that is well', async () => (await monitor()).status === 'ok')

  withoutFolder()
  const cards = [
    await board.start('good'),
    await board.start('good', { useWorktree: false }),
    await board.start('good', { kind: 'terminal', command: 'cat README', agent: null }),
  ]
  for (const { id } of cards)
    expect(await failed(id)).toEqual(['launch_failed', 'The folder to work in does not exist.'])
  await client.scripts.run({ projectId, scriptId })
  await eventually('the end of the script', async () => (await script()).status === 'failed')
  expect((await script()).error).toBe("The project's folder no longer exists.")
  await expect(
    asAgent.monitors.create({
      projectId,
      cardId: watched,
      command: 'cat README',
      intervalSecs: 10,
      allowUnsandboxed: true,
    }),
  ).rejects.toMatchObject({ code: 'MONITOR_CWD_INVALID' })
  await eventually('a run that fails', async () => (await monitor()).status === 'error')
  expect((await monitor()).error).toMatch(/^cwd must be the absolute path of an existing folder/)

  bringBack()
  for (const { id: cardId } of cards) {
    await client.agents.relaunch({ projectId, cardId })
    await board.untilStatus(cardId, 'completed')
  }
  await client.scripts.run({ projectId, scriptId })
  await eventually("the script's success", async () => (await script()).status === 'succeeded')
  await eventually('a run that is well again', async () => (await monitor()).status === 'ok')
  await client.monitors.deleteProject({ projectId, monitorId: String(monitorId) })
})

test('without Git an agent in a repository reports it, and one in a plain folder works', async () => {
  const path = board.folder('plain')
  const { id: plainId } = await board.client.projects.create({ name: 'Plain', path })
  const activeId = (await board.client.columns.list({ projectId: plainId }))[1]!.id
  withoutGit()
  const { id: cardId } = await board.start('good')
  expect(await failed(cardId)).toEqual([
    'launch_failed',
    'Git was not found on the server. Install it, or correct the PATH of the server.',
  ])
  const plain = await board.client.cards.create({
    projectId: plainId,
    title: 'Plain',
    prompt: 'Do it.',
    columnId: activeId,
    agent: 'good',
  })
  await eventually(
    'the end of the other',
    async () => (await board.client.cards.get({ projectId: plainId, cardId: plain.id })).status === 'completed',
    20_000,
  )
  bringBack()
  await board.client.agents.relaunch({ projectId: board.projectId, cardId })
  await board.untilStatus(cardId, 'completed')
})

test('without Git a card whose worktree could hold work is not deleted, and none of it is lost', async () => {
  const { id: cardId } = await board.start('committing')
  await board.untilStatus(cardId, 'completed')
  const ref = { projectId: board.projectId, cardId }
  const worktree = join(board.dataDir, 'worktrees', board.projectId, cardId)
  withoutGit()
  for (const force of [undefined, 'true'] as const)
    await expect(board.client.cards.delete({ ...ref, force })).rejects.toMatchObject({ status: 409, code: 'CONFLICT' })
  expect(existsSync(join(worktree, 'loose'))).toBe(true)
  bringBack()
  await expect(board.client.cards.delete(ref)).rejects.toMatchObject({ code: 'WORKTREE_DIRTY' })
  await board.client.cards.delete({ ...ref, force: 'true' })
})

test('a worktree that a user removed by hand is recreated from its branch, and until then the branch is shown', async () => {
  const { id: cardId } = await board.start('committing')
  const { worktreePath } = await board.untilStatus(cardId, 'completed')
  const ref = { projectId: board.projectId, cardId }
  expect(worktreePath).toBeNull()
  const worktree = join(board.dataDir, 'worktrees', board.projectId, cardId)
  expect((await board.client.agents.diff(ref)).stats.filesChanged).toBe(2)
  rmSync(worktree, { recursive: true })
  expect((await board.client.agents.diff(ref)).stats.filesChanged).toBe(1)
  await board.client.cards.update({ ...ref, agent: 'good' })
  await board.client.agents.relaunch(ref)
  await board.untilStatus(cardId, 'completed')
  expect([existsSync(join(worktree, 'work')), existsSync(join(worktree, 'loose'))]).toEqual([true, false])
  rmSync(worktree, { recursive: true })
  mkdirSync(worktree)
  expect(await board.client.agents.merge({ ...ref }).catch(({ code }) => code)).toBe('CONFLICT')
  rmSync(worktree, { recursive: true })
  await board.client.agents.merge(ref)
  expect(existsSync(join(board.path, 'work'))).toBe(true)
  await board.client.cards.delete(ref)
})
