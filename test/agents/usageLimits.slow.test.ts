import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard, type FixtureAgent } from '../support/agents/agentBoard.ts'
import { startBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

const counts = mkdtempSync(join(tmpdir(), 'board-limits-'))
/** An agent that reaches its limit `times` times. */
const limited = (saying: string, times = 1, more: Record<string, string> = {}): FixtureAgent => ({
  fixture: 'limited-at-first',
  env: { FIXTURE_COUNT: `count-${randomUUID()}`, FIXTURE_TIMES: String(times), FIXTURE_SAYING: saying, ...more },
  credentials: { anthropic: { key: 'ANTHROPIC_API_KEY' } },
})
const timing = { firstMs: 50, maxMs: 200, repeatMs: 1 }

let board: AgentBoard
beforeAll(async () => {
  board = await startFolderBoard(
    {
      short: limited('Please try again in 1.5s.'),
      resumed: limited('Please try again in 1.5s.', 1, { FIXTURE_RESUMES: '1', FIXTURE_WHEN: 'Do this too.' }),
      silent: limited('', 2),
      long: limited('Please try again in 5 hours.'),
      longer: limited('Please try again in 6 hours.', 99),
      cancelled: limited('Please try again in 5 hours.', 99),
      endless: limited('Please try again in 1ms.', 99),
      first: limited('Please try again in 3 hours.', 99),
      second: limited('Please try again in 1 hour.', 99),
      third: limited('', 0),
      sealed: limited('Please try again in 2 hours.', 1, { FIXTURE_RESUMES: '1' }),
    },
    { usageLimitTiming: timing },
  )
})
afterAll(async () => {
  await board.close()
  rmSync(counts, { recursive: true, force: true })
})

type Limits = NonNullable<Parameters<AgentBoard['client']['projects']['update']>[0]['usageLimits']>
const say = (usageLimits: Limits) => board.client.projects.update({ id: board.projectId, usageLimits })
const sessionOf = (cardId: string) => board.client.agents.get({ projectId: board.projectId, cardId })
const sessionsOf = (cardId: string) => board.client.agents.sessions({ projectId: board.projectId, cardId })
const words = async (cardId: string, role: string) =>
  (await board.messages(cardId)).filter(message => message.role === role).map(({ content }) => content)
const statuses = (cardId: string) =>
  board.socket.messages
    .filter(({ type, data }) => type === 'card.updated' && data.id === cardId)
    .map(({ data }) => data.status as string)
const waiting = (cardId: string) =>
  board.until(cardId, 'the wait for the limit', card => card.status === 'queued' && card.statusReason === 'usage_limit')
const hoursFromNow = (time: string | null) => (Date.parse(time!) - Date.now()) / 3_600_000

test('a card waits until the time that its agent names, resumes automatically, and then auto mode continues', async () => {
  await say({ onLimit: 'wait' })
  const { id } = await board.start('short', { autoMode: true })
  const put = await waiting(id)
  expect(put).toMatchObject({
    hasActiveAgent: true,
    lastAgentAction: {
      type: 'queued',
      detail: expect.stringMatching(/^Waits for the usage limit to end at 20.* UTC\.$/),
    },
  })
  const session = await sessionOf(id)
  expect(session).toMatchObject({ status: 'queued', statusReason: 'usage_limit', endedAt: null })
  expect(session.notBefore).toBe(session.limitEndsAt)
  await board.until(id, 'the done column', card => card.columnId === board.columns.done)
  expect(await sessionOf(id)).toMatchObject({
    status: 'completed',
    statusReason: null,
    limitEndsAt: null,
    notBefore: null,
  })
  expect(await sessionsOf(id)).toHaveLength(1)
  expect(await words(id, 'agent')).toEqual([expect.stringContaining('I did: Do it.')])
  expect(await words(id, 'system')).toEqual(
    expect.arrayContaining([
      expect.stringContaining("You've hit your limit"),
      expect.stringContaining('Waits for the'),
    ]),
  )
  expect(new Set(statuses(id))).toEqual(new Set(['queued', 'running', 'completed']))
  const { items } = await board.client.audit.list({ action: 'agents.continue', limit: 10 })
  expect(items.filter(({ target }) => target?.id === id)).not.toEqual([])
})

test('an agent that can resume continues its own session, and gets the unanswered message again', async () => {
  await say({ onLimit: 'wait' })
  const { id } = await board.start('resumed')
  await board.untilStatus(id, 'completed')
  await board.client.agents.send({ projectId: board.projectId, cardId: id, content: 'Do this too.' })
  await waiting(id)
  await board.client.agents.send({ projectId: board.projectId, cardId: id, content: 'And that.' })
  await board.untilStatus(id, 'completed')
  expect(await sessionsOf(id)).toHaveLength(1)
  // On a slow machine the wait might end before the second message: then that is a separate turn.
  expect((await words(id, 'agent')).join('\n')).toMatch(/I did: Do this too\.[^]*And that\. with/)
})

test('if the end is unknown it retries after a pause that doubles', async () => {
  await say({ onLimit: 'wait' })
  const { id } = await board.start('silent')
  await board.untilStatus(id, 'completed')
  expect((await words(id, 'system')).filter(text => text.includes('Its end is unknown'))).toHaveLength(2)
})

test('a user can retry immediately or cancel, and a project without a setting stops', async () => {
  await say({ onLimit: 'wait' })
  const [retried, cancelled] = [await board.start('long'), await board.start('cancelled')]
  await Promise.all([waiting(retried.id), waiting(cancelled.id)])
  expect(hoursFromNow((await sessionOf(retried.id)).limitEndsAt)).toBeCloseTo(5, 1)
  await board.client.agents.retry({ projectId: board.projectId, cardId: retried.id })
  await board.untilStatus(retried.id, 'completed')
  await board.client.agents.cancel({ projectId: board.projectId, cardId: cancelled.id })
  expect(await board.card(cancelled.id)).toMatchObject({ status: 'cancelled', statusReason: 'cancelled' })
  await say({ onLimit: 'stop' })
  const stopped = await board.start('longer')
  await board.untilStatus(stopped.id, 'failed')
  const session = await sessionOf(stopped.id)
  expect(session.statusReason).toBe('usage_limit')
  expect(hoursFromNow(session.limitEndsAt)).toBeCloseTo(6, 1)
})

test('a limit that never ends fails the card after twenty waits', async () => {
  await say({ onLimit: 'wait' })
  const { id } = await board.start('endless')
  await board.untilStatus(id, 'failed', 60_000)
  expect((await words(id, 'system')).filter(text => text.startsWith('Waits'))).toHaveLength(20)
  expect(await sessionsOf(id)).toHaveLength(1)
})

test('the next agent below its limit continues, also for new cards, and after the last one the card waits', async () => {
  await say({ onLimit: 'next', next: [{ agent: 'second' }, { agent: 'third' }] })
  const { id } = await board.start('first')
  await board.untilStatus(id, 'completed')
  expect((await sessionsOf(id)).map(({ agent, status, statusReason }) => [agent, status, statusReason])).toEqual([
    ['first', 'failed', 'usage_limit'],
    ['second', 'failed', 'usage_limit'],
    ['third', 'completed', null],
  ])
  expect((await words(id, 'system')).filter(text => text.includes('continues, because'))).toEqual([
    expect.stringMatching(/^second continues, because first has reached its usage limit, until 20.* UTC\.$/),
    expect.stringMatching(/^third continues, because second has reached/),
  ])
  expect(statuses(id)).not.toContain('failed')
  const known = await board.start('first', { useWorktree: false })
  await board.untilStatus(known.id, 'completed')
  expect((await sessionsOf(known.id)).map(({ agent }) => agent)).toEqual(['third'])
  expect(await words(known.id, 'system')).toEqual([
    expect.stringContaining('third continues, because first has reached'),
  ])
  await say({ onLimit: 'next', next: [{ agent: 'second' }] })
  const all = await board.start('first')
  await waiting(all.id)
  const session = await sessionOf(all.id)
  expect(session.agent).toBe('second')
  expect(hoursFromNow(session.notBefore)).toBeCloseTo(1, 1)
  await board.client.agents.cancel({ projectId: board.projectId, cardId: all.id })
})

test("an entry's credential is the one that its session uses, now and when it is resumed; a deleted one is skipped", async () => {
  const { client, projectId } = board
  const add = (apiKey: string) => client.credentials.create({ name: apiKey, provider: 'anthropic', apiKey })
  const [gone, kept] = [await add('sk-ant-secret-gone-aaa'), await add('sk-ant-secret-kept-bbb')]
  await say({ onLimit: 'next', next: [{ credentialId: gone.id }, { credentialId: kept.id }] })
  await client.credentials.delete({ id: gone.id })
  const { id } = await board.start('sealed')
  await board.untilStatus(id, 'completed')
  expect((await words(id, 'agent')).join()).toContain('with key bbb')
  await client.agents.send({ projectId, cardId: id, content: 'More.' })
  await eventually('the second answer', async () => (await words(id, 'agent')).length === 2)
  expect((await words(id, 'agent')).at(-1)).toContain('I did: More. with key bbb')
  expect(await sessionsOf(id)).toHaveLength(2)
})

test('a card that waits for a limit still waits after a restart', async () => {
  await say({ onLimit: 'wait' })
  const dataDir = join(counts, 'data')
  const before = await startFolderBoard({ patient: limited('Please try again in 4s.') }, { dataDir })
  await before.client.projects.update({ id: before.projectId, usageLimits: { onLimit: 'wait' } })
  const { id } = await before.start('patient')
  await before.until(id, 'the wait', card => card.statusReason === 'usage_limit' && card.status === 'queued')
  const place = { projectId: before.projectId, cardId: id }
  const { limitEndsAt } = await before.client.agents.get(place)
  await before.server.stop()
  const after = await startBoard({ dataDir })
  const completed = await eventually('its end', async () => {
    const session = await after.client.agents.get(place)
    return session.status === 'completed' ? session : undefined
  })
  expect(Date.parse(completed.endedAt!)).toBeGreaterThan(Date.parse(limitEndsAt!))
  expect(await after.client.agents.sessions(place)).toHaveLength(1)
  await after.close()
  await before.close()
})
