import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

const hourMs = 3_600_000
let nowMs = Date.parse('2026-11-23T08:30:00.000Z')
let board: AgentBoard
let budgetId: string
beforeAll(async () => {
  board = await startFolderBoard(
    {
      well: { fixture: 'well-behaved' },
      forever: { fixture: 'forever' },
      keyed: { fixture: 'well-behaved', credentials: { custom: { key: 'OWN_KEY' } } },
    },
    { clock: () => new Date(nowMs) },
  )
  await board.client.projects.update({ id: board.projectId, agent: 'well' })
  const { id } = await board.start('well')
  await board.untilStatus(id, 'completed')
  budgetId = (
    await board.client.budgets.create({
      scope: 'project',
      scopeId: board.projectId,
      unit: 'runs',
      limit: 1000,
      period: 'total',
    })
  ).id
})
afterAll(() => board.close())
beforeEach(() => limit(1000))

const at = (cardId: string) => ({ projectId: board.projectId, cardId })
const limit = (runs: number) => board.client.budgets.update({ id: budgetId, limit: runs })
const passHours = async (hours: number) => {
  nowMs += hours * hourMs
  await board.server.app.timer.reconcile()
}
const timeIn = (hours: number) => new Date(nowMs + hours * hourMs).toISOString()
type NewCard = Partial<Parameters<AgentBoard['client']['cards']['create']>[0]>
const add = async (card: NewCard = {}) =>
  (
    await board.client.cards.create({
      projectId: board.projectId,
      title: 'Held',
      columnId: board.columns.backlog,
      useWorktree: false,
      ...card,
    })
  ).id
const addActive = (card: NewCard = {}) => add({ columnId: board.columns.active, ...card })
const move = (cardId: string, column: keyof AgentBoard['columns'] = 'active') =>
  board.client.cards.move({ ...at(cardId), columnId: board.columns[column] })
const runs = async (cardId: string) =>
  (await board.client.agents.sessions(at(cardId))).filter(({ startedAt }) => startedAt !== null).length
const requireStarted = async (cardId: string) => {
  await board.until(
    cardId,
    'the end of its work',
    ({ startedAt, status }) => startedAt !== null && status === 'completed',
  )
  expect(await runs(cardId)).toBe(1)
}
const states = (cardId: string, detail: string) =>
  board.until(cardId, detail, ({ lastAgentAction }) => lastAgentAction?.detail?.includes(detail) === true)
const schedule = async () =>
  board.client.schedules.create({
    projectId: board.projectId,
    name: `Every hour ${nowMs}`,
    everySecs: 3600,
    template: { title: 'Scheduled', prompt: 'Do it.', columnId: board.columns.active, useWorktree: false },
  })
const pulling = (pull: boolean) =>
  board.client.columns.update({
    projectId: board.projectId,
    columnId: board.columns.active,
    pull,
    wipLimit: pull ? 500 : null,
  })

/** The ways to start a card. */
const ways: Record<string, () => Promise<string>> = {
  'is created in an active column': () => addActive(),
  'is moved by a person': async () => {
    const id = await add()
    await move(id)
    return id
  },
  'is created by a schedule': async () => {
    const { id: scheduleId } = await schedule()
    await passHours(1)
    const made = (await board.client.schedules.list({ projectId: board.projectId })).find(
      ({ id }) => id === scheduleId,
    )!
    await board.client.schedules.delete({ projectId: board.projectId, scheduleId })
    return made.lastCardId!
  },
  'is created by "Run now" of a schedule': async () => {
    const { id: scheduleId } = await schedule()
    const { id } = await board.client.schedules.run({ projectId: board.projectId, scheduleId })
    await board.client.schedules.delete({ projectId: board.projectId, scheduleId })
    return id
  },
  'starts at a time': async () => {
    const id = await addActive({ startAt: timeIn(1) })
    await passHours(1)
    return id
  },
  'starts at a time that passes while it is archived': async () => {
    const id = await addActive({ startAt: timeIn(1) })
    await board.client.cards.archive(at(id))
    await passHours(2)
    await board.client.cards.unarchive(at(id))
    return id
  },
  'starts at a time that passes while it is in the trash': async () => {
    const id = await addActive({ startAt: timeIn(1) })
    await board.client.cards.delete(at(id))
    await passHours(2)
    await board.client.cards.restore(at(id))
    return id
  },
  'starts at a time that passes while another card blocks it': async () => {
    const blocker = await add()
    const id = await addActive({ startAt: timeIn(1), blockedBy: [blocker] })
    await passHours(2)
    expect(await runs(id)).toBe(0)
    await board.client.cards.complete(at(blocker))
    return id
  },
  'is in auto mode and its last blocker is done': async () => {
    const blocker = await add()
    const id = await add({ autoMode: true, blockedBy: [blocker] })
    await board.client.cards.complete(at(blocker))
    return id
  },
  'is in auto mode and its last blocker is done while it is archived': async () => {
    const blocker = await add()
    const id = await add({ autoMode: true, blockedBy: [blocker] })
    await board.client.cards.archive(at(id))
    await board.client.cards.complete(at(blocker))
    await board.client.cards.unarchive(at(id))
    return id
  },
  'gets auto mode after its last blocker is done': async () => {
    const blocker = await add()
    const id = await add({ blockedBy: [blocker] })
    await board.client.cards.complete(at(blocker))
    await board.client.cards.setAutoMode({ ...at(id), enabled: true })
    return id
  },
  'is pulled': async () => {
    const id = await add()
    await pulling(true)
    await board.until(id, 'the pull', ({ columnType }) => columnType === 'active')
    await pulling(false)
    return id
  },
}

/** The reasons that hold a card back, and the changes that end them. */
const reasons: Record<string, { hold: () => Promise<unknown>; held: object; free: () => Promise<unknown> }> = {
  'a budget until its limit is raised': {
    hold: () => limit(1),
    held: { status: 'waiting', statusReason: 'budget' },
    free: () => limit(1000),
  },
  'a budget until it is deleted': {
    hold: () => limit(1),
    held: { status: 'waiting', statusReason: 'budget' },
    free: async () => {
      await board.client.budgets.delete({ id: budgetId })
      const bound = { scope: 'project', scopeId: board.projectId, unit: 'runs', period: 'total' } as const
      budgetId = (await board.client.budgets.create({ ...bound, limit: 1000 })).id
    },
  },
  'the slots of its project': {
    hold: async () => {
      await board.client.projects.update({ id: board.projectId, agentSlots: 1 })
      other = await addActive({ agent: 'forever' })
      await board.untilStatus(other, 'running')
    },
    held: { status: 'queued', statusReason: 'slots' },
    free: async () => {
      await board.client.projects.update({ id: board.projectId, agentSlots: null })
      await board.client.agents.cancel(at(other))
    },
  },
  'the slots of all servers': {
    hold: async () => {
      await board.client.settings.setAgentSlots({ server: 1 })
      other = await addActive({ agent: 'forever' })
      await board.untilStatus(other, 'running')
    },
    held: { status: 'queued', statusReason: 'slots' },
    free: async () => {
      await board.client.settings.setAgentSlots({ server: null })
      await board.client.agents.cancel(at(other))
    },
  },
}
let other: string

describe.each(Object.keys(reasons))('a card that is held back by %s starts once it is free', reason => {
  test.each(Object.keys(ways))('if it %s', async way => {
    const { hold, held, free } = reasons[reason]!
    await hold()
    const id = await ways[way]!()
    await board.until(id, 'the wait', card =>
      Object.entries(held).every(([key, value]) => card[key as 'status'] === value),
    )
    expect(await runs(id)).toBe(0)
    await free()
    await requireStarted(id)
  })
})

describe('a card that several reasons hold back', () => {
  test.each(Object.keys(ways))('starts without any reason if it %s', async way => requireStarted(await ways[way]!()))

  test('does not start when a budget allows it but a new blocker and a new time do not', async () => {
    await limit(1)
    const [blocker, id] = [await add(), await addActive()]
    expect(await board.card(id)).toMatchObject({ status: 'waiting', statusReason: 'budget' })
    await board.client.cards.update({ ...at(id), blockedBy: [blocker], startAt: timeIn(1) })
    await limit(1000)
    await states(id, `is blocked by card ${blocker}`)
    await board.client.cards.complete(at(blocker))
    await states(id, 'The card starts at')
    expect(await runs(id)).toBe(0)
    await passHours(1)
    await requireStarted(id)
  })

  test('does not start when a slot is free before its new start time', async () => {
    await reasons['the slots of its project']!.hold()
    const id = await addActive()
    await board.untilStatus(id, 'queued')
    await board.client.cards.update({ ...at(id), startAt: timeIn(1) })
    await states(id, 'The card starts at')
    await reasons['the slots of its project']!.free()
    const next = await addActive()
    await requireStarted(next)
    expect(await board.card(id)).toMatchObject({ status: 'queued', statusReason: 'blocked' })
    await passHours(1)
    await requireStarted(id)
  })

  describe('and that waits for a slot', () => {
    const slots = reasons['the slots of its project']!
    const addQueued = async (card: NewCard = {}) => {
      await slots.hold()
      const id = await addActive(card)
      await board.until(id, 'the wait for a slot', ({ statusReason }) => statusReason === 'slots')
      return id
    }
    const changes: Record<string, (id: string, blocker: string) => Promise<unknown>> = {
      'gets a blocker': (id, blocker) => board.client.cards.update({ ...at(id), blockedBy: [blocker] }),
      'has a blocker that is moved back': async (id, blocker) => {
        await board.client.cards.complete(at(blocker))
        await board.client.cards.update({ ...at(id), blockedBy: [blocker] })
        await move(blocker, 'backlog')
      },
    }
    const ends: Record<string, (id: string, blocker: string) => Promise<unknown>> = {
      'the blocker is done': (_, blocker) => board.client.cards.complete(at(blocker)),
      'the blocker is removed': id => board.client.cards.update({ ...at(id), blockedBy: [] }),
      'a person starts it anyway': id => board.client.agents.retry({ ...at(id), force: true }),
    }
    test.each(Object.keys(changes).flatMap(change => Object.keys(ends).map(end => [change, end] as const)))(
      'does not start if it %s, until %s',
      async (change, end) => {
        const [blocker, id] = [await add(), await addQueued()]
        await changes[change]!(id, blocker)
        await states(id, `is blocked by card ${blocker}`)
        await slots.free()
        await requireStarted(await addActive())
        expect(await board.card(id)).toMatchObject({ status: 'queued', statusReason: 'blocked', startedAt: null })
        await expect(board.client.agents.retry(at(id))).rejects.toMatchObject({ code: 'CARD_BLOCKED' })
        await ends[end]!(id, blocker)
        await requireStarted(id)
      },
    )

    test('starts past its blockers if a person forced its start', async () => {
      await slots.hold()
      const blocker = await add()
      const id = await add({ blockedBy: [blocker] })
      await board.client.cards.move({ ...at(id), columnId: board.columns.active, force: true })
      await board.until(id, 'the wait for a slot', ({ statusReason }) => statusReason === 'slots')
      await slots.free()
      await requireStarted(id)
    })
  })

  test('waits for a budget if a person forced its start past blockers', async () => {
    const id = await add({ blockedBy: [await add()] })
    await limit(1)
    await board.client.cards.move({ ...at(id), columnId: board.columns.active, force: true })
    expect(await board.card(id)).toMatchObject({ status: 'waiting', statusReason: 'budget' })
    await limit(1000)
    await requireStarted(id)
  })

  test('waits for the budget of the credential that it uses now', async () => {
    const { client } = board
    const key = { provider: 'custom', baseUrl: 'http://127.0.0.1:1', apiKey: 'sk-own-0123456789' } as const
    const [spent, fresh] = [
      await client.credentials.create({ name: 'Spent', ...key }),
      await client.credentials.create({ name: 'Fresh', ...key }),
    ]
    const bound = { scope: 'credential', scopeId: spent.id, unit: 'runs', limit: 1, period: 'total' } as const
    const { id: spentBudgetId } = await client.budgets.create(bound)
    const addKeyed = async () => {
      const id = await add({ agent: 'keyed' })
      await client.credentials.chooseForCard({ ...at(id), credentialId: spent.id })
      await move(id)
      return id
    }
    await requireStarted(await addKeyed())
    const id = await addKeyed()
    expect(await board.card(id)).toMatchObject({ status: 'waiting', statusReason: 'budget' })
    await client.credentials.chooseForCard({ ...at(id), credentialId: fresh.id })
    await requireStarted(id)
    await client.budgets.delete({ id: spentBudgetId })
  })

  test('is not started without auto mode when its last blocker is done', async () => {
    const blocker = await add()
    const id = await addActive({ blockedBy: [blocker] })
    await board.client.cards.complete(at(blocker))
    expect(await board.card(id)).toMatchObject({ ready: true, status: 'idle' })
  })
})
