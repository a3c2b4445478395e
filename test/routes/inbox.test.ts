import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'
import { openSocket } from '../support/receivers/liveSocket.ts'
import { eventually } from '../support/waiting/eventually.ts'

interface Person {
  id: string
  token: string
  client: Client
}

let board: AgentBoard
let projectId: string
let owner: Person
let people = 0

async function inProject(role?: 'viewer' | 'member'): Promise<Person> {
  const email = `person${++people}@example.org`
  const { token, user } = await registerConfirmed(board, { email, password: 'a long password' })
  if (role) await owner.client.members.add({ id: projectId, email, role })
  return { token, client: board.as(token), id: user.id }
}
const newCard = async (fields: object = {}) => ({
  projectId,
  cardId: (await owner.client.cards.create({ projectId, title: 'Card', deferred: true, ...fields })).id,
})
const idsOf = async ({ client }: Person, query: Parameters<Client['inbox']['list']>[0] = {}) =>
  (await client.inbox.list(query)).items.map(({ id }) => id)
/** The items of a card, as kinds with their states. */
const about = async ({ client }: Person, cardId: string, state: 'open' | 'snoozed' | 'done' = 'open') =>
  (await client.inbox.list({ state, limit: 200 })).items
    .filter(each => each.cardId === cardId)
    .map(({ kind, state }) => `${kind} ${state}`)

beforeAll(async () => {
  board = await startFolderBoard({
    good: { fixture: 'well-behaved' },
    crashing: { fixture: 'crash-in-turn' },
    asking: { fixture: 'permission-first' },
  })
  projectId = board.projectId
})
afterAll(() => board.close())

test('the local operator has an inbox, which the first account receives', async () => {
  const { id: cardId } = await board.start('asking', { title: 'Before' })
  await board.untilStatus(cardId, 'waiting')
  expect((await board.client.inbox.list()).items).toMatchObject([
    {
      id: `question-${cardId}`,
      kind: 'question',
      projectId,
      cardId,
      cardTitle: 'Before',
      cardStatus: 'waiting',
      text: expect.stringMatching(/\S/),
      state: 'unread',
      snoozedUntil: null,
    },
  ])
  await board.client.inbox.mark({ all: true, state: 'done' })
  const { token, user } = await board.as().auth.setup({ email: 'owner@example.org', password: 'a long password' })
  owner = { token, client: board.as(token), id: user.id }
  board.token = token
  expect([await idsOf(owner), await idsOf(owner, { state: 'done' })]).toEqual([[], [`question-${cardId}`]])
})

describe('an item', () => {
  test('of a waiting agent ends when another user answers it, and a review follows', async () => {
    const [member, viewer] = [await inProject('member'), await inProject('viewer')]
    const cardId = (await board.start('asking', { title: 'Asking' })).id
    await board.untilStatus(cardId, 'waiting')
    expect([await about(owner, cardId), await about(member, cardId), await about(viewer, cardId)]).toEqual([
      ['question unread'],
      ['question unread'],
      [],
    ])
    await member.client.agents.approvePlan({ projectId, cardId, approved: true })
    await board.untilStatus(cardId, 'completed')
    expect([await about(owner, cardId), await about(member, cardId)]).toEqual([['review unread'], ['review unread']])
    await owner.client.cards.complete({ projectId, cardId })
    expect([await about(owner, cardId), await about(member, cardId)]).toEqual([[], []])
  })

  test('of a failed agent is unread again when the agent fails again', async () => {
    const cardId = (await board.start('crashing', { title: 'Crashing' })).id
    await board.untilStatus(cardId, 'failed')
    await owner.client.inbox.mark({ ids: [`failed-${cardId}`], state: 'done' })
    expect(await about(owner, cardId)).toEqual([])
    await owner.client.agents.retry({ projectId, cardId })
    await eventually('the next failure', async () => (await about(owner, cardId))[0] === 'failed unread', 10_000)
  })

  test('of a mention is created without a connection, and ends with the comment or the access', async () => {
    const [viewer, stranger] = [await inProject('viewer'), await inProject()]
    const card = await newCard()
    const body = `Look @[v](${viewer.id}) @[s](${stranger.id}) @[o](${owner.id}) @[gone](999999)`
    const { id: commentId } = await owner.client.comments.create({ ...card, body })
    const [item] = (await viewer.client.inbox.list()).items
    expect(item).toMatchObject({ id: `mention-${card.cardId}`, text: expect.stringMatching(/: Look @v @s @o @gone$/) })
    expect([await about(stranger, card.cardId), await about(owner, card.cardId)]).toEqual([[], []])
    await owner.client.members.remove({ projectId, userId: viewer.id })
    expect(await idsOf(viewer)).toEqual([])
    const { email } = await viewer.client.auth.me()
    await owner.client.members.add({ id: projectId, email: email!, role: 'viewer' })
    expect(await about(viewer, card.cardId)).toEqual(['mention unread'])
    await owner.client.comments.update({ ...card, commentId, body: 'Never mind' })
    expect(await about(viewer, card.cardId)).toEqual([])
    await owner.client.comments.update({ ...card, commentId, body })
    expect(await about(viewer, card.cardId)).toEqual(['mention unread'])
    await owner.client.comments.delete({ ...card, commentId })
    expect(await about(viewer, card.cardId)).toEqual([])
  })

  test('of a comment goes to the watchers of the card, except its author', async () => {
    const member = await inProject('member')
    const card = await newCard()
    await member.client.comments.create({ ...card, body: 'First' })
    expect([await about(owner, card.cardId), await about(member, card.cardId)]).toEqual([['comment unread'], []])
    await owner.client.comments.create({ ...card, body: 'Second' })
    expect(await about(member, card.cardId)).toEqual(['comment unread'])
    await member.client.inbox.mark({ ids: [`comment-${card.cardId}`], state: 'done' })
    await owner.client.comments.create({ ...card, body: 'Third' })
    expect(await about(member, card.cardId)).toEqual(['comment unread'])
    await owner.client.cards.delete(card)
    expect(await about(member, card.cardId)).toEqual([])
  })

  test('of an assignment ends when the card is done or assigned to another user', async () => {
    const [one, two] = [await inProject('member'), await inProject('member')]
    const card = await newCard({ assigneeIds: [one.id, owner.id] })
    expect([await about(one, card.cardId), await about(owner, card.cardId)]).toEqual([['assigned unread'], []])
    expect((await one.client.inbox.list({ kind: 'assigned' })).items[0]!.text).toMatch(/ assigned the card to you\.$/)
    await owner.client.cards.update({ ...card, assigneeIds: [Number(two.id)] })
    expect([await about(one, card.cardId), await about(two, card.cardId)]).toEqual([[], ['assigned unread']])
    await owner.client.cards.complete(card)
    expect(await about(two, card.cardId)).toEqual([])
  })

  test('of a due date starts a day before, and again when the card is overdue', async () => {
    const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
    const card = await newCard({ dueAt: inHours(23) })
    const later = await newCard({ dueAt: inHours(25) })
    expect([await about(owner, card.cardId), await about(owner, later.cardId)]).toEqual([['due unread'], []])
    await owner.client.inbox.mark({ ids: [`due-${card.cardId}`], state: 'done' })
    expect(await about(owner, card.cardId)).toEqual([])
    await owner.client.cards.update({ ...card, dueAt: inHours(-1) })
    expect(await about(owner, card.cardId)).toEqual(['due unread'])
    const [item] = (await owner.client.inbox.list({ kind: 'due' })).items
    expect(item!.text).toMatch(/^The card was due at /)
    await owner.client.cards.setWatching({ ...card, watching: false })
    expect(await about(owner, card.cardId)).toEqual([])
  })
})

describe('the states of items', () => {
  test('belong to each user, and are counted, filtered and reversible', async () => {
    const member = await inProject('member')
    const cards = [await newCard({ assigneeIds: [member.id] }), await newCard({ assigneeIds: [member.id] })]
    const ids = cards.map(({ cardId }) => `assigned-${cardId}`).reverse()
    const { client } = member
    const onlyAssigned = { kind: 'assigned', projectId } as const
    const unread = async () => (await client.inbox.list({ limit: 1 })).unread
    const before = await unread()
    expect(await client.inbox.mark({ ids: [ids[0]!, 'assigned-999999'], state: 'read' })).toEqual({ ids: [ids[0]] })
    expect([await unread(), await idsOf(member, { ...onlyAssigned, state: 'unread' })]).toEqual([before - 1, [ids[1]]])
    const snoozedUntil = new Date(Date.now() + 500).toISOString()
    await client.inbox.mark({ ids: [ids[0]!], state: 'snoozed', snoozedUntil })
    expect([await idsOf(member, onlyAssigned), await idsOf(member, { ...onlyAssigned, state: 'snoozed' })]).toEqual([
      [ids[1]],
      [ids[0]],
    ])
    await eventually('the end of the snooze', async () => (await unread()) === before, 5000)
    expect(
      await client.inbox.mark({ all: true, ...onlyAssigned, createdUntil: '2026-01-01T00:00:00Z', state: 'done' }),
    ).toEqual({ ids: [] })
    await client.inbox.mark({ all: true, ...onlyAssigned, state: 'done' })
    expect([await idsOf(member, onlyAssigned), await idsOf(member, { ...onlyAssigned, state: 'done' })]).toEqual([
      [],
      ids,
    ])
    await client.inbox.mark({ ids, state: 'unread' })
    expect([await idsOf(member, onlyAssigned), await unread()]).toEqual([ids, before])
    const page = await client.inbox.list({ ...onlyAssigned, limit: 1 })
    expect([page.nextCursor, await idsOf(member, { ...onlyAssigned, limit: 1, cursor: 1 })]).toEqual(['1', [ids[1]]])
  })

  test.each([
    [{ state: 'done' }, 'ids'],
    [{ all: true, ids: ['due-1'], state: 'done' }, 'ids'],
    [{ ids: ['other-1'], state: 'done' }, 'ids.0'],
    [{ all: true, state: 'snoozed' }, 'snoozedUntil'],
    [{ all: true, state: 'read', snoozedUntil: '2099-01-01T00:00:00Z' }, 'snoozedUntil'],
    [{ all: true, state: 'snoozed', snoozedUntil: '2020-01-01T00:00:00Z' }, 'snoozedUntil'],
  ])('reject %j with 400', async (body, field) => {
    const { status, body: answer } = await board.request('PATCH', '/api/inbox', { body })
    expect([status, answer.error.details[0].path]).toEqual([400, field])
  })

  test('are deleted with their account and their card', async () => {
    const member = await inProject('member')
    const { cardId } = await newCard({ assigneeIds: [member.id] })
    await member.client.inbox.mark({ all: true, state: 'read' })
    await owner.client.users.delete({ id: member.id })
    const { db } = board.server.app
    const rows = (column: string, id: string) =>
      db.all(
        `SELECT 1 FROM inbox_notes WHERE ${column} = ?1 UNION ALL SELECT 1 FROM inbox_marks WHERE ${column} = ?1`,
        [Number(id)],
      )
    expect(await rows('user_id', member.id)).toEqual([])
    await owner.client.cards.update({ projectId, cardId, assigneeIds: [Number((await inProject('member')).id)] })
    expect(await rows('card_id', cardId)).toHaveLength(1)
    await db.transaction(async tx => void (await tx.run('DELETE FROM cards WHERE id = ?', [Number(cardId)])))
    expect(await rows('card_id', cardId)).toEqual([])
  })
})

test('inbox.updated reaches the sockets of users who can see the change, and of the user who marked items', async () => {
  const [member, stranger] = [await inProject('member'), await inProject()]
  const [mine, foreign] = [await openSocket(board.url, member.token), await openSocket(board.url, stranger.token)]
  const updates = () => mine.messages.filter(({ type }) => type === 'inbox.updated')
  await newCard({ assigneeIds: [member.id] })
  await eventually('the first update', () => updates().length === 1, 5000)
  await owner.client.comments.create({ ...(await newCard()), body: 'Hello' })
  await eventually('one update for several changes', () => updates().length === 2, 5000)
  await member.client.inbox.mark({ all: true, state: 'done' })
  await eventually('the update of the marks', () => updates().length === 3, 5000)
  expect(updates()[0]).toMatchObject({ data: { userId: member.id }, projectId: null })
  expect(foreign.messages.filter(({ type }) => type === 'inbox.updated')).toEqual([])
  for (const socket of [mine, foreign]) socket.close()
})
