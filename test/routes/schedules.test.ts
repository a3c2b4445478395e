import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Permission } from '../../src/contract/route.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'
import { follow } from '../support/receivers/liveSocket.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

type NewSchedule = Parameters<TestBoard['client']['schedules']['create']>[0]
type Change = Omit<Parameters<TestBoard['client']['schedules']['update']>[0], 'projectId' | 'scheduleId'>

const minuteMs = 60_000
const dayMs = 86_400_000
/** A Monday. */
const start = Date.parse('2026-11-23T08:30:00.000Z')

let board: TestBoard
let nowMs = start
let projectId: string
let columns: Record<'backlog' | 'active' | 'done', string>

beforeAll(async () => {
  board = await startBoard({ clock: () => new Date(nowMs) })
  await board.as().auth.setup({ email: 'ada@example.org', password: 'correct horse', displayName: 'Ada' })
})
afterAll(() => board.close())
beforeEach(async () => {
  projectId = (await board.client.projects.create({ name: 'p', path: board.folder('p') })).id
  const all = await board.client.columns.list({ projectId })
  columns = Object.fromEntries(all.map(({ columnType, id }) => [columnType, id])) as typeof columns
})

const make = (more: Partial<NewSchedule> = {}, client = board.client) =>
  client.schedules.create({
    projectId,
    name: 'Daily',
    ...(more.everySecs === undefined && { cron: '0 9 * * *' }),
    timeZone: 'UTC',
    template: { title: 'Work of {date}' },
    ...more,
  })
const read = async (id: string) => (await board.client.schedules.list({ projectId })).find(each => each.id === id)!
const change = (scheduleId: string, changed: Change, client = board.client) =>
  client.schedules.update({ projectId, scheduleId, ...changed })
const cards = async () => (await board.client.cards.list({ projectId })).map(({ title }) => title)
const at = (time: string) => Date.parse(time)
/** Sets the board's clock to a time, and runs the due schedules. */
const goTo = async (timeMs: number) => {
  nowMs = timeMs
  await board.server.app.timer.reconcile()
}
const problem = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
  )

describe('a schedule', () => {
  test('is created with its next runs, changed and deleted, with an event for each', async () => {
    const live = await follow(board.url, board.token, projectId)
    const made = await make({ cron: ' 0   9 * * 1-5 ', timeZone: 'Europe/Berlin' })
    expect(made).toMatchObject({
      name: 'Daily',
      cron: '0 9 * * 1-5',
      everySecs: null,
      timeZone: 'Europe/Berlin',
      template: { title: 'Work of {date}', prompt: '', labels: [], columnId: null, useWorktree: true, agent: null },
      overlap: 'skip',
      catchUp: 'none',
      enabled: true,
      disabledReason: null,
      nextRunAt: '2026-11-24T08:00:00.000Z',
      nextRuns: ['2026-11-24T08:00:00.000Z', '2026-11-25T08:00:00.000Z', '2026-11-26T08:00:00.000Z'],
      lastRunAt: null,
      lastCardId: null,
      skipped: 0,
    })
    const changed = await change(made.id, { everySecs: 3600, template: { labels: ['chore'] } })
    expect(changed).toMatchObject({
      cron: null,
      everySecs: 3600,
      nextRunAt: new Date(nowMs + 3_600_000).toISOString(),
      template: { title: 'Work of {date}', labels: ['chore'] },
    })
    await board.client.schedules.delete({ projectId, scheduleId: made.id })
    await live.message('schedule.deleted', ({ data }) => data.id === made.id)
    const told = live.messages.filter(({ type }) => type?.startsWith('schedule.'))
    expect(told.map(({ type, data }) => [type, data.id])).toEqual(
      ['created', 'updated', 'deleted'].map(what => [`schedule.${what}`, made.id]),
    )
    expect(await board.client.schedules.list({ projectId })).toEqual([])
  })

  test('uses the zone of the server by default, and previews its runs before it is created', async () => {
    const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
    expect((await make({ timeZone: undefined })).timeZone).toBe(timeZone)
    expect(await board.client.schedules.preview({ projectId, cron: '30 2 29 3 *', timeZone: 'Europe/Berlin' })).toEqual(
      {
        timeZone: 'Europe/Berlin',
        nextRuns: ['2027-03-29T00:30:00.000Z', '2028-03-29T00:30:00.000Z', '2029-03-29T00:30:00.000Z'],
      },
    )
  })

  test.each<[string, object, string]>([
    ['an expression that never matches', { cron: '0 0 30 2 *' }, 'cron must match a future time'],
    ['six fields', { cron: '* * * * * *' }, 'cron must have five fields'],
    ['no expression', { cron: 'at nine o clock sharp' }, 'cron is not a cron expression'],
    ['an invalid minute', { cron: '60 * * * *' }, 'invalid value for minute: 60'],
    ['no time', { cron: undefined }, 'cron or everySecs is required, but not both'],
    ['two times', { cron: '0 9 * * *', everySecs: 60 }, 'cron or everySecs is required, but not both'],
    ['too short an interval', { cron: undefined, everySecs: 59 }, 'everySecs must be at least 60'],
    ['an unknown zone', { timeZone: 'Europe/Atlantis' }, 'timeZone must be a time zone such as Europe/Berlin'],
    ['an offset', { timeZone: '+01:00' }, 'timeZone must be a time zone such as Europe/Berlin'],
    ['no title', { template: {} }, 'template.title'],
    [
      'a title that becomes too long',
      { template: { title: `${'x'.repeat(494)}{date}` } },
      'template.title must have at most',
    ],
    ['an unknown overlap', { overlap: 'wait' }, 'overlap must be skip, queue or add'],
  ])('%s is rejected with its rule', async (_, fields, message) => {
    const { status, body } = await board.request('POST', `/api/projects/${projectId}/schedules`, {
      body: { name: 'Bad', cron: '0 9 * * *', template: { title: 'Bad' }, ...fields },
    })
    expect([status, body.error.code], JSON.stringify(body)).toEqual([400, 'VALIDATION_FAILED'])
    expect(body.error.message + JSON.stringify(body.error.details)).toContain(message)
  })

  test('creates no cards in a column of another project', async () => {
    const other = await board.client.projects.create({ name: 'other', path: board.folder('other') })
    const [column] = await board.client.columns.list({ projectId: other.id })
    const template = { title: 'x', columnId: column!.id }
    expect(await problem(make({ template }))).toContain('COLUMN_IN_OTHER_PROJECT')
    const { id } = await make()
    expect(await problem(change(id, { template: { columnId: '999999' } }))).toContain('COLUMN_NOT_FOUND')
  })
})

describe('a run', () => {
  test('creates the card of the template with the current day in the zone', async () => {
    const template = {
      title: 'Report {date}',
      prompt: 'Write it',
      labels: ['report'],
      columnId: columns.active,
      useWorktree: false,
    }
    nowMs = at('2026-11-23T08:30:00.000Z')
    const { id } = await make({ cron: '30 23 * * *', timeZone: 'America/New_York', template })
    await goTo(at('2026-11-24T04:29:59.999Z'))
    expect(await cards()).toEqual([])
    await goTo(at('2026-11-24T04:30:00.000Z'))
    const { lastCardId, lastRunAt, nextRunAt } = await read(id)
    expect({ lastRunAt, nextRunAt }).toEqual({
      lastRunAt: '2026-11-24T04:30:00.000Z',
      nextRunAt: '2026-11-25T04:30:00.000Z',
    })
    expect(await board.client.cards.get({ projectId, cardId: lastCardId! })).toMatchObject({
      title: 'Report 2026-11-23',
      prompt: 'Write it',
      labels: ['report'],
      columnId: columns.active,
      useWorktree: false,
      creatorName: 'Ada',
      deferred: false,
      lastAgentAction: { type: 'not_started' },
    })
  })

  test('keeps the phase of an interval across downtime', async () => {
    nowMs = start
    const { id, nextRunAt } = await make({ everySecs: 3600, overlap: 'add' })
    await goTo(at(nextRunAt!) + 20_000)
    expect((await read(id)).nextRunAt).toBe(new Date(start + 7_200_000).toISOString())
    await goTo(start + 5 * 3_600_000 + 30 * minuteMs)
    expect((await read(id)).nextRunAt).toBe(new Date(start + 6 * 3_600_000).toISOString())
    expect(await cards()).toHaveLength(1)
  })

  test.each(['none', 'one'] as const)('after downtime creates at most one card: %s', async catchUp => {
    nowMs = start
    const { id } = await make({ everySecs: 60, overlap: 'add', catchUp })
    await goTo(start + 3 * dayMs + 61_500 + minuteMs / 2)
    // One run is on time here, so this schedule has none within the last minute.
    expect(await cards()).toHaveLength(1)
    const daily = await make({ name: 'Rare', catchUp, template: { title: 'Rare {date}' } })
    await goTo(at(daily.nextRunAt!) + 2 * dayMs + 61 * minuteMs)
    const rare = (await cards()).filter(title => title.startsWith('Rare'))
    expect(rare).toEqual(catchUp === 'one' ? [`Rare ${new Date(nowMs).toISOString().slice(0, 10)}`] : [])
    expect((await read(id)).enabled).toBe(true)
  })

  test.each([
    ['skip', 1, 2],
    ['queue', 1, 1],
    ['add', 3, 0],
  ] as const)('while the last card is open: %s', async (overlap, made, skipped) => {
    nowMs = start
    const { id } = await make({ overlap, template: { title: overlap } })
    for (const day of [0, 1, 2]) await goTo(start + day * dayMs + 30 * minuteMs)
    expect(await cards()).toHaveLength(made)
    const present = await read(id)
    expect(present.skipped).toBe(skipped)
    expect(present.waitingSince).toBe(overlap === 'queue' ? '2026-11-24T09:00:00.000Z' : null)
  })

  test.each<[string, (cardId: string) => Promise<unknown>]>([
    ['completed', cardId => board.client.cards.complete({ projectId, cardId })],
    ['archived', cardId => board.client.cards.archive({ projectId, cardId })],
    ['deleted', cardId => board.client.cards.delete({ projectId, cardId })],
    ['moved to done', cardId => board.client.cards.move({ projectId, cardId, columnId: columns.done })],
  ])('that waits is created once the last card is %s, and no other', async (_, end) => {
    nowMs = start
    const { id } = await make({ overlap: 'queue' })
    for (const day of [0, 1, 2]) await goTo(start + day * dayMs + 30 * minuteMs)
    const { lastCardId } = await read(id)
    await end(lastCardId!)
    await board.server.app.timer.reconcile()
    await board.server.app.timer.reconcile()
    const present = await read(id)
    expect(present).toMatchObject({ waitingSince: null, skipped: 1 })
    expect(present.lastCardId).not.toBe(lastCardId)
    const { title } = await board.client.cards.get({ projectId, cardId: present.lastCardId! })
    expect(title).toBe('Work of 2026-11-25')
  })

  test('on request creates a card regardless of the last one, and keeps the next time', async () => {
    nowMs = start
    const { id, nextRunAt } = await make()
    const first = await board.client.schedules.run({ projectId, scheduleId: id })
    const second = await board.client.schedules.run({ projectId, scheduleId: id })
    expect([first.title, second.title]).toEqual(['Work of 2026-11-23', 'Work of 2026-11-23'])
    expect(await read(id)).toMatchObject({ lastCardId: second.id, nextRunAt })
    await change(id, { enabled: false })
    expect(await read(id)).toMatchObject({ nextRunAt: null, nextRuns: [] })
    await board.client.schedules.run({ projectId, scheduleId: id })
    await goTo(at(nextRunAt!))
    expect(await cards()).toHaveLength(3)
  })

  test.each([
    ['skip', 1, 2],
    ['queue', 2, 1],
    ['add', 2, 1],
  ] as const)('into a full column, which the next one leaves: %s', async (overlap, made, skipped) => {
    nowMs = start
    await board.client.columns.update({ projectId, columnId: columns.backlog, wipLimit: 1 })
    const { id: cardId } = await board.client.cards.create({ projectId, title: 'In the way' })
    const { id } = await make({ overlap })
    await goTo(start + 30 * minuteMs)
    await goTo(start + dayMs + 30 * minuteMs)
    expect(await problem(board.client.schedules.run({ projectId, scheduleId: id }))).toContain('COLUMN_FULL')
    expect(await cards()).toEqual(['In the way'])
    await board.client.cards.complete({ projectId, cardId })
    await board.server.app.timer.reconcile()
    expect(await read(id)).toMatchObject({ skipped, waitingSince: null, enabled: true })
    expect(await cards()).toHaveLength(made)
    await board.client.schedules.run({ projectId, scheduleId: id, force: true })
    expect(await cards()).toHaveLength(made + 1)
  })

  test('into a deleted column disables the schedule, which reports the reason', async () => {
    nowMs = start
    const { boardId } = (await board.client.columns.list({ projectId }))[0]!
    const column = await board.client.columns.create({ projectId, boardId, name: 'Brief', columnType: 'backlog' })
    const { id } = await make({ template: { title: 'x', columnId: column.id } })
    await board.client.columns.delete({ projectId, columnId: column.id })
    await goTo(start + 30 * minuteMs)
    expect(await read(id)).toMatchObject({ enabled: false, nextRunAt: null, lastCardId: null })
    expect((await read(id)).disabledReason).toContain('Column not found.')
    await change(id, { enabled: true, template: { columnId: null } })
    expect(await read(id)).toMatchObject({ enabled: true, disabledReason: null })
    await goTo(start + dayMs + 30 * minuteMs)
    expect(await cards()).toEqual(['x'])
  })

  test('is not repeated after the clock was set back, and none is lost', async () => {
    nowMs = start
    const { id } = await make({ overlap: 'add' })
    await goTo(at('2026-11-23T09:00:05.000Z'))
    await goTo(at('2026-11-23T08:50:00.000Z'))
    await goTo(at('2026-11-23T09:00:05.000Z'))
    expect(await cards()).toEqual(['Work of 2026-11-23'])
    // A clock that was a year ahead for a while.
    await goTo(at('2027-11-23T09:00:00.000Z'))
    await goTo(at('2026-11-23T12:00:00.000Z'))
    expect((await read(id)).nextRunAt).toBe('2026-11-24T09:00:00.000Z')
    await goTo(at('2026-11-24T09:00:01.000Z'))
    expect(await cards()).toEqual(['Work of 2026-11-23', 'Work of 2027-11-23', 'Work of 2026-11-24'])
  })
})

describe('the rights of a run', () => {
  const member = async (role: 'member' | 'viewer' = 'member') => {
    const { token, user } = await registerConfirmed(board, {
      email: `runner${Math.random()}@example.org`,
      password: 'a long password',
    })
    await board.client.members.add({ id: projectId, email: user.email, role })
    return { id: user.id, client: board.as(token) }
  }
  const key = async (permissions: Permission[]) => {
    const made = await board.client.keys.create({ name: 'Cron', scope: 'project', projectId, permissions })
    return { id: made.id, client: board.as(made.key) }
  }

  test('are the current ones of its owner: a user without them loses the schedule', async () => {
    nowMs = start
    const { id: userId, client } = await member()
    const { id, createdBy } = await make({}, client)
    expect(createdBy).toMatchObject({ userId, keyId: null })
    await goTo(start + 30 * minuteMs)
    expect(await cards()).toHaveLength(1)
    await board.client.members.update({ projectId, userId, role: 'viewer' })
    await board.client.cards.complete({ projectId, cardId: (await read(id)).lastCardId! })
    await goTo(start + dayMs + 30 * minuteMs)
    expect(await read(id)).toMatchObject({ enabled: false, nextRunAt: null })
    expect((await read(id)).disabledReason).toContain('can no longer work in this project')
    // The user who enables the schedule becomes its owner.
    await change(id, { enabled: true })
    await goTo(start + 2 * dayMs + 30 * minuteMs)
    expect(await cards()).toHaveLength(2)
    expect((await read(id)).createdBy!.userId).not.toBe(userId)
  })

  test('of a key end with the key, and allow only actions that the key allows', async () => {
    nowMs = start
    const weak = await key(['schedules.write'])
    expect(await problem(make({}, weak.client))).toContain('cards.create')
    const { id: keyId, client } = await key(['schedules.write', 'cards.create'])
    const template = { title: 'x', columnId: columns.active }
    expect(await problem(make({ template: { ...template, autoMode: true } }, client))).toContain('agents.run')
    const { id, createdBy } = await make({ template }, client)
    expect(createdBy).toMatchObject({ keyId, keyName: 'Cron' })
    await goTo(start + 30 * minuteMs)
    const cardId = (await read(id)).lastCardId!
    expect(await board.client.cards.get({ projectId, cardId })).toMatchObject({
      deferred: true,
      lastAgentAction: { detail: expect.stringContaining('agents.run') },
    })
    await board.client.cards.complete({ projectId, cardId })
    await board.client.keys.revoke({ id: keyId })
    await goTo(start + dayMs + 30 * minuteMs)
    expect((await read(id)).disabledReason).toContain('The API key that owns it was revoked.')
  })

  test('stay with the owner if another user renames or disables the schedule, and pass to the author of any other change', async () => {
    nowMs = start
    const { id: userId, client } = await member()
    const { id } = await make()
    const maker = (await read(id)).createdBy!.userId
    await change(id, { name: 'Renamed' }, client)
    await change(id, { enabled: false }, client)
    expect((await read(id)).createdBy!.userId).toBe(maker)
    await change(id, { template: { prompt: 'Something else' } }, client)
    expect((await read(id)).createdBy!.userId).toBe(userId)
  })
})
