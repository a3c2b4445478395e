import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { configure, makeRepository } from '../support/agents/agentBoard.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import { eventually } from '../support/waiting/eventually.ts'

const root = mkdtempSync(join(tmpdir(), 'board-gates-'))
const dataDir = join(root, 'data')
const board = boardProcess(dataDir, { HOME: root })
afterAll(() => clearAway(board, root))

test('a gate whose server is killed runs again after the restart', async () => {
  const path = join(root, 'repository')
  mkdirSync(dataDir)
  configure(dataDir, { worker: { command: ['sh', '-c', 'echo work > work; echo done'], protocol: 'command' } }, 'none')
  makeRepository(path)
  execFileSync('git', ['-C', path, 'config', 'core.excludesFile', join(root, 'ignored')])
  writeFileSync(join(root, 'ignored'), 'began\n')
  await board.start()
  const { id: projectId } = await board.client.projects.create({ name: 'Gated', path })
  const active = (await board.client.columns.list({ projectId })).find(({ columnType }) => columnType === 'active')!
  const { id: cardId } = await board.client.cards.create({
    projectId,
    title: 'Work',
    columnId: active.id,
    agent: 'worker',
    useWorktree: true,
  })
  const ref = { projectId, cardId }
  await eventually('the end of the agent', async () => (await board.client.cards.get(ref)).status === 'completed')
  // The command ends quickly only if it began before.
  const command = 'if [ -e began ]; then echo again; else touch began; sleep 600; fi'
  await board.client.gates.create({ projectId, name: 'tests', command })
  const running = async () => {
    const [proof] = await board.client.proofs.check(ref)
    await eventually('the start', async () => existsSync(join(dataDir, 'worktrees', projectId, cardId, 'began')))
    return { ...ref, proofId: proof!.id }
  }
  const killed = await running()
  await board.end('SIGKILL')
  await board.start()
  await eventually('the result', async () => (await board.client.proofs.get(killed)).status === 'passed')
  expect((await board.client.proofs.get(killed)).output).toBe('again\n')
  expect(await board.client.proofs.list(ref)).toMatchObject([{ passed: true }])
})
