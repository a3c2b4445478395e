import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { workByKeyboard } from '../support/browsers/workByKeyboard.ts'
import { startRealBoard, type RealBoard } from '../support/agents/realBoard.ts'
import { installedAgent } from '../support/agents/realAgents.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { proveAgent } from './proveAgent.ts'

proveAgent('qwen', {
  model: { id: '$runtime|openai|scripted(openai)', asked: 'scripted' },
  credentials: { openai: '/gateway/v1/chat/completions', custom: '/gateway/chat/completions' },
})

const agent = installedAgent('qwen')

describe.skipIf(!agent || noBrowser !== undefined)('Qwen Code, used without a mouse', () => {
  const visit = visitors()

  test("completes a card's task, and its work is merged", async () => {
    const real = await startRealBoard(agent!)
    try {
      const { client, url, token } = real.board
      const login = { email: 'ada@example.org', password: 'correct horse' }
      await client.auth.setup(login)
      await client.projects.update({ id: real.projectId, agent: 'qwen' })
      real.model.play(
        { calls: [agent!.calls.write(join(real.worktree('1'), 'hello.txt'), 'hello\n')] },
        { text: 'Done.' },
      )
      const { page } = await visit({ url, token }, { isStranger: true, at: `#/projects/${real.projectId}` })
      await workByKeyboard(page, { login, untilCompleted: id => real.untilStatus(id, 'completed') })
      expect(execFileSync('git', ['-C', real.path, 'show', 'main:hello.txt'], { encoding: 'utf8' })).toBe('hello\n')
    } finally {
      await real.close()
    }
  })
})

describe.skipIf(!agent)('Qwen Code on a card', () => {
  let real: RealBoard
  beforeAll(async () => {
    real = await startRealBoard(agent!)
  })
  afterAll(async () => {
    await real.close()
  })
  const { write, run, board: boardTool } = agent?.calls ?? ({} as never)
  const messages = (cardId: string) => real.board.client.agents.messages({ projectId: real.projectId, cardId })

  test("it writes a file in the worktree and not in the project's folder, and auto mode completes the card", async () => {
    const { id } = await real.create('Write hello', { autoMode: true })
    const folder = real.worktree(id)
    real.model.play({ calls: [write(join(folder, 'hello.txt'), 'hello from a real agent\n')] }, { text: 'I wrote it.' })
    await real.start(id)
    const done = await eventually('the done column', async () => {
      const found = await real.card(id)
      return found.columnId === real.columns.done ? found : undefined
    })
    expect(done).toMatchObject({
      status: 'completed',
      statusReason: null,
      unread: true,
      hasActiveAgent: false,
      columnType: 'done',
      gitBranch: `board/${id}-write-hello`,
    })
    expect(existsSync(join(real.path, 'hello.txt'))).toBe(false)
    const { diff, stats } = await real.board.client.agents.diff({ projectId: real.projectId, cardId: id })
    expect(diff).toContain('+hello from a real agent')
    expect(stats).toEqual({ filesChanged: 1, insertions: 1, deletions: 0 })
    const told = await messages(id)
    expect(told.find(({ role }) => role === 'tool')?.tool).toMatchObject({ kind: 'edit', status: 'completed' })
    expect(told.filter(({ role }) => role === 'agent').at(-1)?.content).toBe('I wrote it.')
    await real.untilNoneRuns()
  })

  test("it has the board's tools, and asks before it runs a command", async () => {
    const { card, questions } = await real.run('Commit', folder => [
      { calls: [write(join(folder, 'kept.txt'), 'kept\n')] },
      { calls: [boardTool('report_progress', { detail: 'I commit kept.txt.' })] },
      { calls: [run('git add kept.txt && git commit -m Keep')] },
      { text: 'I committed kept.txt.' },
    ])
    expect(questions).toEqual([expect.stringContaining('git commit')])
    expect(card).toMatchObject({ status: 'completed', columnId: real.columns.active })
    const calls = (await messages(card.id)).filter(({ role }) => role === 'tool')
    expect(calls.map(({ content }) => content)).toEqual([
      expect.anything(),
      expect.stringContaining('"type":"progress"'),
      expect.stringContaining('Keep'),
    ])
    expect(calls.map(({ tool }) => tool!.name)).toEqual([
      expect.stringContaining('kept.txt'),
      expect.stringContaining('report_progress'),
      expect.stringContaining('git commit'),
    ])
    const newest = (folder: string) =>
      execFileSync('git', ['-C', folder, 'log', '-1', '--format=%s by %an'], { encoding: 'utf8' })
    expect(newest(real.worktree(card.id))).toBe('Keep by Qwen Code\n')
    expect(newest(real.path)).toBe('Begin by Test\n')
    await real.untilNoneRuns()
  })

  test('it asks before it starts a monitor', async () => {
    const { id } = await real.create('Watch')
    const monitor = { command: 'true', intervalSecs: 60, allowUnsandboxed: true }
    real.model.play({ calls: [boardTool('add_monitor', monitor)] }, { text: 'I watch.' })
    await real.start(id)
    const { lastAgentAction } = await real.untilStatus(id, 'waiting')
    expect(lastAgentAction!.detail).toContain('add_monitor')
    const monitors = () => real.board.client.monitors.listProject({ projectId: real.projectId })
    expect(await monitors()).toEqual([])
    await real.board.client.agents.approvePlan({ projectId: real.projectId, cardId: id, approved: false })
    await eventually('the end', async () => !(await real.card(id)).hasActiveAgent)
    expect(await monitors()).toEqual([])
    await real.untilNoneRuns()
  })

  test('it continues its session after the server was killed in the middle of it', async () => {
    const { id } = await real.create('Go on', { prompt: 'Note the date in a file.' })
    real.model.play({ calls: [run('date > date.txt')] }, { text: 'That was the first part.' })
    await real.start(id)
    await real.untilStatus(id, 'waiting')
    await real.board.end('SIGKILL')
    await real.board.start()
    await real.untilNoneRuns()
    expect(await real.card(id)).toMatchObject({
      status: 'interrupted',
      statusReason: 'server_restart',
      hasActiveAgent: false,
    })
    real.model.play(
      { calls: [write(join(real.worktree(id), 'second.txt'), 'second\n')] },
      { text: 'That was the second part.' },
    )
    await real.board.client.agents.send({ projectId: real.projectId, cardId: id, content: 'Do the second part.' })
    await real.untilStatus(id, 'completed')
    expect(readFileSync(join(real.worktree(id), 'second.txt'), 'utf8')).toBe('second\n')
    expect((await real.card(id)).sessions).toMatchObject([
      { agent: 'qwen', status: 'completed', summary: 'That was the second part.' },
    ])
    const told: string = JSON.stringify(real.model.asked.at(-1)!.body.messages)
    expect(told.includes('Note the date in a file.')).toBe(true)
    await real.untilNoneRuns()
  })
})
