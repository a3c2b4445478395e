import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { follow } from '../support/receivers/liveSocket.ts'
import { startBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

const silenceMs = 2000
const folder = mkdtempSync(join(tmpdir(), 'board-silence-'))
const flag = (name: string) => join(folder, name)
const raise = (path: string) => writeFileSync(path, '')
const waits = (kind: string, more: Record<string, string> = {}) => ({
  fixture: 'waits-for-model',
  state: [folder],
  env: { FIXTURE_WAIT: kind, ...more },
})

let board: AgentBoard
let patient: AgentBoard
beforeAll(async () => {
  board = await startFolderBoard(
    {
      silent: waits('silent'),
      stderr: waits('stderr'),
      codex: waits('codex'),
      copilot: waits('copilot'),
      late: waits('late'),
      overcame: waits('overcame', { FIXTURE_GO: flag('overcome') }),
      limited: { protocol: 'command', command: ['sh', '-c', 'echo "429 Too Many Requests, retrying" >&2; sleep 600'] },
      recovers: waits('recovers', { FIXTURE_GO: flag('speak') }),
      hung: waits('hung', { FIXTURE_GO: flag('tool') }),
      burns: waits('burns', { FIXTURE_MS: String(4 * silenceMs) }),
      question: waits('question'),
      command: {
        protocol: 'command',
        state: [folder],
        command: ['sh', '-c', `until [ -e '${flag('command')}' ]; do sleep 0.2; done; echo done; echo {prompt}`],
      },
    },
    { agentQuietMs: 200, agentSilenceMs: silenceMs, agentSlots: 20 },
  )
  patient = await startFolderBoard(
    { recovers: waits('recovers', { FIXTURE_GO: flag('go') }), codex: waits('codex') },
    { agentQuietMs: 200, agentSilenceMs: 0 },
  )
})
afterAll(async () => {
  await Promise.all([board.close(), patient.close()])
  rmSync(folder, { recursive: true, force: true })
})

const sessionOf = ({ client, projectId }: AgentBoard, cardId: string) => client.agents.get({ projectId, cardId })
const untilSilent = (cardId: string) =>
  board.until(cardId, 'the silence', card => card.status === 'waiting' && card.statusReason === 'silent')
const cancel = (cardId: string) => board.client.agents.cancel({ projectId: board.projectId, cardId })
const onSilence = (value: 'wait' | 'end') => board.client.projects.update({ id: board.projectId, onSilence: value })
const told = (cardId: string) =>
  board.socket.messages.filter(({ type, data }) => type === 'notification' && data.cardId === cardId)
/** Waits for the last state of the session, and checks the previous ones. */
async function untilCourse(cardId: string, ...expected: string[]): Promise<void> {
  const course = () => [
    ...new Set(
      board.socket.messages
        .filter(({ type, data }) => type === 'agent.status' && data.cardId === cardId)
        .map(({ data }) => [data.status, data.statusReason].filter(Boolean).join(': ')),
    ),
  ]
  await eventually(`${expected.at(-1)} of card ${cardId}`, () => course().at(-1) === expected.at(-1))
  expect(course()).toEqual(expected)
}

/** Waits until a displayed silence ends: both the card and its session have reported it. */
const untilSpeaking = ({ socket }: AgentBoard, cardId: string) =>
  eventually(`the word of card ${cardId}`, () => {
    const events = socket.messages.filter(({ data }) => (data.cardId ?? data.id) === cardId)
    const since = events.findIndex(({ type, data }) => type === 'agent.status' && data.silentSince !== null)
    const later = events.slice(since === -1 ? Infinity : since)
    return (
      later.some(({ type, data }) => type === 'agent.status' && data.status === 'running' && !data.silentSince) &&
      later.some(
        ({ type, data }) => type === 'card.updated' && data.status === 'running' && !data.lastAgentAction.detail,
      )
    )
  })

test('an agent that waits for its model is shown as such, and then continues', async () => {
  const { id } = await patient.start('recovers')
  const silent = await eventually('the silence', async () => {
    const session = await sessionOf(patient, id)
    return session.silentSince === null ? undefined : session
  })
  expect(silent).toMatchObject({ status: 'running', retrying: null })
  expect((await patient.card(id)).lastAgentAction).toMatchObject({
    type: 'running',
    detail: expect.stringMatching(/^No output since 20.* UTC\. The agent might be waiting for its model\.$/),
  })
  raise(flag('go'))
  await untilSpeaking(patient, id)
  raise(flag('go.end'))
  await patient.untilStatus(id, 'completed')
})

test("an agent's own retries are shown while it continues", async () => {
  const { id } = await patient.start('codex')
  await eventually('the retry', async () => (await sessionOf(patient, id)).retrying)
  expect((await sessionOf(patient, id)).retrying).toMatch(/^Reconnecting\.\.\. 1\/5 \(exceeded retry limit/)
  expect((await patient.card(id)).lastAgentAction?.detail).toMatch(/^The agent retries automatically: Reconnecting/)
  await patient.client.agents.cancel({ projectId: patient.projectId, cardId: id })
  expect(await sessionOf(patient, id)).toMatchObject({ retrying: null, silentSince: null })
})

test('a silent agent gets the status waiting and one notification, and continues when it sends output', async () => {
  const { id } = await board.start('recovers')
  const card = await untilSilent(id)
  expect(card).toMatchObject({
    hasActiveAgent: true,
    lastAgentAction: {
      type: 'waiting',
      detail: expect.stringMatching(/^No output since 20.* UTC, and the agent's processes are idle\. Cancel the agent/),
    },
  })
  expect(await sessionOf(board, id)).toMatchObject({
    status: 'waiting',
    statusReason: 'silent',
    waitingFor: null,
    silentSince: expect.any(String),
    endedAt: null,
  })
  await eventually('the notification', () => told(id).length > 0)
  expect(told(id)[0]!.data).toMatchObject({
    kind: 'agentWaiting',
    message: expect.stringMatching(/^The agent has sent no output since 20.* UTC, and its processes are idle\.$/),
  })
  // A second card notifies later: a repeated notification of the first card would have come before.
  const later = await board.start('silent')
  await eventually('the other notification', () => told(later.id).length > 0)
  expect(told(id)).toHaveLength(1)
  raise(flag('speak'))
  await untilSpeaking(board, id)
  await untilSilent(id)
  await eventually('the second silence', () => told(id).length === 2)
  raise(flag('speak.end'))
  await board.untilStatus(id, 'completed')
  expect(await board.card(id)).toMatchObject({ statusReason: null })
  await eventually('its end', () => told(id).length === 3)
  expect(told(id).map(({ data }) => data.kind)).toEqual(['agentWaiting', 'agentWaiting', 'agentCompleted'])
  await expect(
    board.client.agents.approvePlan({ projectId: board.projectId, cardId: later.id, approved: true }),
  ).rejects.toMatchObject({ code: 'NOTHING_TO_APPROVE' })
  await cancel(later.id)
})

test('working processes are a sign of life, a hanging tool is not', async () => {
  const [burns, hung] = [await board.start('burns'), await board.start('hung')]
  expect((await untilSilent(hung.id)).lastAgentAction?.detail).toMatch(/Its tool has not ended: npm test\.$/)
  await board.untilStatus(burns.id, 'completed')
  await untilCourse(burns.id, 'queued', 'running', 'completed')
  raise(flag('tool'))
  await board.untilStatus(hung.id, 'completed')
  await untilCourse(hung.id, 'queued', 'running', 'waiting: silent', 'completed')
})

test('a plain command can be silent like any agent, a terminal never is', async () => {
  const terminal = await board.client.cards.create({
    projectId: board.projectId,
    title: 'Terminal',
    kind: 'terminal',
    command: 'sleep 600',
    columnId: board.columns.active,
  })
  const command = await board.start('command')
  await untilSilent(command.id)
  await untilCourse(command.id, 'queued', 'running', 'waiting: silent')
  raise(flag('command'))
  await board.untilStatus(command.id, 'completed')
  expect(await board.card(terminal.id)).toMatchObject({ status: 'running', statusReason: null })
  await cancel(terminal.id)
})

test('a question can wait longer than the limit, also if silent turns end', async () => {
  await onSilence('end')
  const question = await board.start('question')
  await board.untilStatus(question.id, 'waiting')
  const silent = await board.start('silent')
  await board.untilStatus(silent.id, 'failed')
  expect(await sessionOf(board, question.id)).toMatchObject({
    status: 'waiting',
    statusReason: null,
    waitingFor: 'npm test',
    silentSince: null,
  })
  await board.client.agents.approvePlan({ projectId: board.projectId, cardId: question.id, approved: true })
  await board.untilStatus(question.id, 'completed')
  await onSilence('wait')
})

test('a silent planning agent is still in its turn', async () => {
  const { id: cardId } = await board.start('silent', { deferred: true })
  const started = await board.client.preSessions.start({ projectId: board.projectId, cardId })
  await untilCourse(cardId, 'queued', 'running', 'waiting: silent')
  const ref = { projectId: board.projectId, sessionId: started.sessionId }
  expect(await board.client.preSessions.get(ref)).toMatchObject({ status: 'running' })
  await board.client.preSessions.cancel(ref)
  expect(told(cardId)).toEqual([])
})

test("a turn whose agent names a known reason for its retries ends with that reason, regardless of the project's silence setting", async () => {
  const [stderr, codex] = await Promise.all(
    ['stderr', 'codex'].map(async agent => {
      const { id } = await board.start(agent)
      return board.untilStatus(id, 'failed')
    }),
  )
  for (const { id } of [stderr!, codex!])
    expect(await sessionOf(board, id)).toMatchObject({ statusReason: 'usage_limit', silentSince: null, retrying: null })
  expect(stderr!.lastAgentAction?.detail).toMatch(
    /^The agent has received nothing from its model for \d+ seconds, so its turn was ended\. It wrote: Attempt 1 failed with status 429/,
  )
  expect(codex!.lastAgentAction?.detail).toContain('It said: Reconnecting... 1/5')
  const { limitEndsAt } = await sessionOf(board, codex!.id)
  expect((Date.parse(limitEndsAt!) - Date.now()) / 3_600_000).toBeCloseTo(2, 1)
})

test('a usage limit that an agent reported before its last output is not the reason for its silence', async () => {
  const { id } = await board.start('overcame')
  await eventually('what it named', async () => (await sessionOf(board, id)).silentSince !== null)
  raise(flag('overcome'))
  await untilSilent(id)
  await untilCourse(id, 'queued', 'running', 'waiting: silent')
  await cancel(id)
})

test('a plain command that reported a usage limit ends with that reason, if the project ends silent turns', async () => {
  const before = await board.start('limited')
  await untilSilent(before.id)
  await cancel(before.id)
  await onSilence('end')
  const { id } = await board.start('limited')
  expect(await board.untilStatus(id, 'failed')).toMatchObject({
    statusReason: 'usage_limit',
    lastAgentAction: { detail: expect.stringContaining('It wrote: 429 Too Many Requests') },
  })
  await onSilence('wait')
})

test('a silent turn ends if the project is set to end it, also after an earlier notification', async () => {
  const before = await board.start('late')
  await untilSilent(before.id)
  await onSilence('end')
  const after = await Promise.all(['silent', 'copilot'].map(agent => board.start(agent)))
  for (const { id } of [before, ...after]) {
    const { statusReason, lastAgentAction } = await board.untilStatus(id, 'failed')
    expect([statusReason, lastAgentAction?.detail]).toEqual([
      'silent',
      expect.stringMatching(
        /^The agent has sent no output since 20.* UTC, and its processes have been idle for \d+ seconds, so its turn was ended\. Retry the card, or send/,
      ),
    ])
    expect(await sessionOf(board, id)).toMatchObject({ silentSince: null, retrying: null })
  }
  expect((await board.card(after[1]!.id)).lastAgentAction?.detail).toContain('It said: Info: Request failed')
  await untilCourse(after[0]!.id, 'queued', 'running', 'failed: silent')
  await board.untilNoneRuns()
  await onSilence('wait')
})

test('a silence is not notified again after a restart of the server', async () => {
  const dataDir = join(folder, 'data')
  const config = { dataDir, agentSilenceMs: silenceMs }
  const before = await startFolderBoard({ silent: waits('silent') }, config)
  const { id } = await before.start('silent')
  await eventually('the notification', () => before.socket.messages.some(({ type }) => type === 'notification'))
  await before.server.stop()
  const after = await startBoard(config)
  const { projectId } = before
  expect(await after.client.cards.get({ projectId, cardId: id })).toMatchObject({
    status: 'interrupted',
    statusReason: 'server_restart',
  })
  const socket = await follow(after.url, after.token, projectId)
  const next = await after.client.cards.create({
    projectId,
    title: 'Next',
    prompt: 'Do it.',
    columnId: before.columns.active,
    agent: 'silent',
  })
  await eventually('the next notification', () => socket.messages.some(({ type }) => type === 'notification'))
  const about = socket.messages.filter(({ type }) => type === 'notification').map(({ data }) => data.cardId)
  expect(about).toEqual([next.id])
  socket.close()
  await after.close()
  await before.close()
})
