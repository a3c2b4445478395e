import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as v from 'valibot'
import { events } from '../../src/contract/server/events.ts'
import { insertMonitor } from '../../src/store/automation/monitors.ts'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { follow } from '../support/receivers/liveSocket.ts'
import { startMonitorBoard, type Monitor, type MonitorBoard } from './monitorBoard.ts'

describe('events of monitors', () => {
  let board: MonitorBoard
  beforeAll(async () => {
    board = await startMonitorBoard({ monitorTimeoutMs: 3000 })
  })
  afterAll(() => board.close())

  /** Creates a separate project, and returns its monitor events. */
  async function watched() {
    const { projectId, path } = await board.newProject()
    const live = await follow(board.url, board.token, projectId)
    const told = () =>
      live.messages
        .filter(({ type }) => type.startsWith('monitor.'))
        .map(({ type, data }): [string, Monitor] => [type, data])
    const statuses = () => told().map(([type, { status }]) => (type === 'monitor.updated' ? status : type))
    return { card: await board.newCard(projectId), projectId, path, told, statuses, close: live.close }
  }

  it('are sent at its creation, for each change of its status, and at its end; not for each run', async () => {
    const { card, projectId, path, told, statuses, close } = await watched()
    const switched = join(path, 'broken')
    const id = await board.insert(card, `test ! -e ${switched} || { cat ${switched}; exit 4; }`, 0.2, {
      projectId: Number(projectId),
      cwd: path,
    })
    await board.until(id, 'it to be well', ({ status }) => status === 'ok')
    const well = (await board.monitor(id)).lastStartedAt!
    await board.until(id, 'more runs', ({ lastStartedAt }) => Date.parse(lastStartedAt!) > Date.parse(well) + 500)
    expect(statuses()).toEqual(['ok'])
    writeFileSync(switched, 'out of order')
    await board.until(id, 'several failures', ({ consecutiveFailures }) => consecutiveFailures >= 3)
    expect(statuses()).toEqual(['ok', 'failing'])
    expect(told()[1]![1]).toMatchObject({
      id,
      cardId: card.cardId,
      status: 'failing',
      exitCode: 4,
      error: null,
      output: 'out of order',
      consecutiveFailures: 1,
    })
    rmSync(switched)
    await board.until(id, 'it to be well again', ({ consecutiveFailures }) => consecutiveFailures === 0)
    await eventually('the news', () => statuses().length === 3)
    await board.client.monitors.deleteProject({ projectId, monitorId: id })
    await eventually('the end', () => statuses().length === 4)
    expect(statuses()).toEqual(['ok', 'failing', 'ok', 'monitor.deleted'])
    for (const [type, data] of told()) {
      const whole = type === 'monitor.deleted' ? data : { ...data, intervalSecs: 10 }
      expect(v.parse(events[type as 'monitor.updated'].data, whole)).toEqual(whole)
    }
    close()
  })

  it('are sent for its pause and resumption, and then for its first result again', async () => {
    const { card, path, statuses, close } = await watched()
    const columns = await board.client.columns.list({ projectId: card.projectId })
    const { id } = await board.create(card, 'exit 1', { cwd: path })
    await board.until(id, 'a failure', ({ status }) => status === 'failing')
    await board.client.cards.move({ ...card.ref, columnId: columns[0]!.id })
    await board.until(id, 'the pause', ({ status }) => status === 'paused')
    await board.client.cards.move({ ...card.ref, columnId: columns[1]!.id })
    await board.until(id, 'another failure', ({ consecutiveFailures }) => consecutiveFailures === 2)
    await eventually('the news', () => statuses().length === 5)
    expect(statuses()).toEqual(['monitor.created', 'failing', 'paused', 'pending', 'failing'])
    close()
  })

  it('treat a timeout and a failed start like a failure', async () => {
    const { card, path, statuses, close } = await watched()
    const mode = join(path, 'mode')
    writeFileSync(mode, 'sleep 30')
    const id = await board.insert(card, `. ${mode}`, 0.2, { projectId: Number(card.projectId), cwd: path })
    await board.until(id, 'a time-out', ({ status }) => status === 'timeout')
    writeFileSync(mode, 'exit 1')
    await board.until(id, 'a failure', ({ status }) => status === 'failing')
    expect(statuses()).toEqual(['timeout'])
    writeFileSync(mode, ':')
    await board.until(id, 'it to be well', ({ status }) => status === 'ok')
    await eventually('the news', () => statuses().length === 2)
    expect(statuses()).toEqual(['timeout', 'ok'])
    close()
  })
})

describe('the agent at work on the card', () => {
  let board: AgentBoard
  beforeAll(async () => {
    board = await startAgentBoard({ slow: { fixture: 'permission-first' } })
  })
  afterAll(() => board.close())

  it('receives a message when a monitor fails, and when it recovers', async () => {
    const { id: cardId } = await board.start('slow')
    await board.untilStatus(cardId, 'waiting')
    const ref = { projectId: board.projectId, cardId }
    const { token } = await board.client.agents.token(ref)
    const { worktreePath } = (await board.server.app.db.get<{ worktreePath: string }>(
      'SELECT worktree_path AS worktreePath FROM cards WHERE id = ?',
      [Number(cardId)],
    ))!
    const said = async () =>
      (await board.messages(cardId))
        .filter(({ role, content }) => role === 'user' && content.startsWith('Monitor'))
        .map(({ content }) => content)
    const { cwd } = await board
      .as(token)
      .monitors.create({ ...ref, command: 'true', intervalSecs: 60, allowUnsandboxed: true })
    expect(cwd).toBe(worktreePath)
    const id = await board.server.app.db.transaction(tx =>
      insertMonitor(tx, {
        projectId: Number(board.projectId),
        cardId: Number(cardId),
        command: 'test -e fixed || { pwd; exit 5; }',
        intervalSecs: 0.5,
        description: 'Fixed?',
        cwd,
        byAgent: false,
      }),
    )
    await eventually('the message', async () => (await said()).length === 1)
    expect((await said())[0]).toBe(
      `Monitor ${id} (Fixed?) is no longer ok (failing): test -e fixed || { pwd; exit 5; }\n\nThe command ended with exit code 5.\n\nIts last output:\n${worktreePath}`,
    )
    writeFileSync(join(worktreePath, 'fixed'), '')
    await eventually('the other message', async () => (await said()).length === 2)
    expect((await said())[1]).toBe(`Monitor ${id} (Fixed?) is ok again: test -e fixed || { pwd; exit 5; }`)
    // The message is queued for the end of the turn.
    await board.client.agents.approvePlan({ ...ref, approved: true })
    await eventually(
      "the agent's next turn",
      async () =>
        (await board.messages(cardId)).filter(({ role }) => role === 'agent').length >= 1 &&
        (await board.card(cardId)).status === 'waiting',
    )
  })
})
