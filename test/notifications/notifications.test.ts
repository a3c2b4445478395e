import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { EventData } from '../../src/contract/server/events.ts'
import type { Client } from '../../src/client/index.ts'
import { markRunning, markWaiting } from '../../src/domain/agents/sessions.ts'
import { appendEvent } from '../../src/events/outbox.ts'
import { endedSession } from '../support/agents/agentRows.ts'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { createStderrLog } from '../../daemon/process/stderrLog.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { follow, openRaw, openSocket, type LiveSocket } from '../support/receivers/liveSocket.ts'
import { startReceiver, verified, type Receiver } from '../support/receivers/webhookReceiver.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'

type Notification = EventData<'notification'>
interface Person {
  id: string
  email: string
  token: string
  client: Client
  socket: LiveSocket
}

let board: AgentBoard
let receiver: Receiver
let people: Record<'owner' | 'manager' | 'member' | 'viewer' | 'crew' | 'stranger', Person>
const sockets: LiveSocket[] = []

const told = (socket: LiveSocket): Notification[] =>
  socket.messages.filter(({ type }) => type === 'notification').map(({ data }) => data)
const about = (socket: LiveSocket, cardId: string) => told(socket).filter(each => each.cardId === cardId)
const untilTold = (socket: LiveSocket, cardId: string, kind: string) =>
  eventually(`word of ${kind}`, () => about(socket, cardId).find(each => each.kind === kind), 10_000)
const opened = async (token: string) => {
  const socket = await openSocket(board.url, token)
  sockets.push(socket)
  return socket
}
const newCard = async (title: string) =>
  (await board.client.cards.create({ projectId: board.projectId, title, deferred: true })).id
/** Ends a session of a new card, like an agent does. Returns the card. */
async function ends(status: 'completed' | 'failed', title = 'Ended'): Promise<string> {
  const cardId = await newCard(title)
  await endedSession(board, { projectId: board.projectId, cardId }, status)
  return cardId
}
/** Waits for a later notification, which proves that no earlier one is pending. */
const settled = async (socket: LiveSocket): Promise<unknown> =>
  untilTold(socket, await ends('completed'), 'agentCompleted')
const wantEverything = {
  agentCompleted: true,
  agentFailed: true,
  agentWaiting: true,
  monitorFailing: true,
  mentioned: true,
  commented: true,
  assigned: true,
  due: true,
  scheduleDisabled: true,
  budget: true,
  webhookUrl: null,
  desktop: true,
  sound: true,
}

beforeAll(async () => {
  ;[board, receiver] = await Promise.all([
    startFolderBoard({
      good: { fixture: 'well-behaved' },
      crashing: { fixture: 'crash-in-turn' },
      asking: { fixture: 'permission-first' },
      running: { fixture: 'asks-as-told' },
    }),
    startReceiver(),
  ])
})
afterEach(async () => {
  for (const { client } of Object.values(people ?? {})) await client.notifications.set(wantEverything)
})
afterAll(async () => {
  for (const socket of sockets) {
    socket.close()
    // The sockets with large messages hold 50 MB each, and the process continues with other files.
    socket.messages.length = 0
  }
  await Promise.all([board.close(), receiver.close()])
})

test('the local operator is notified before the first user exists, also on a socket without a subscription', async () => {
  const bare = await opened(board.token)
  const { id } = await board.start('good', { title: 'First' })
  const notification = await untilTold(bare, id, 'agentCompleted')
  expect(notification).toEqual({
    userId: '0',
    kind: 'agentCompleted',
    projectId: board.projectId,
    cardId: id,
    cardTitle: 'First',
    message: expect.stringMatching(/^The agent has completed its work/),
    desktop: true,
    sound: true,
    at: expect.any(String),
  })
  expect(bare.messages.find(({ type }) => type === 'notification')).toMatchObject({
    projectId: null,
    seq: expect.any(Number),
  })
  await untilTold(board.socket, id, 'agentCompleted')
})

test('the owner and those who work in the project are notified, on all their sockets, and no other users', async () => {
  const { token, user } = await board.client.auth.setup({ email: 'owner@example.org', password: 'a long password' })
  const owner = { ...user, token, client: board.as(token), socket: await opened(token) }
  const others = await Promise.all(
    ['manager', 'member', 'viewer', 'crew', 'stranger'].map(async name => {
      const signedIn = await registerConfirmed(board, { email: `${name}@example.org`, password: 'a long password' })
      return [
        name,
        {
          ...signedIn.user,
          token: signedIn.token,
          client: board.as(signedIn.token),
          socket: await opened(signedIn.token),
        },
      ]
    }),
  )
  people = { owner, ...Object.fromEntries(others) }
  const organization = await owner.client.organizations.create({ name: 'Crew' })
  await owner.client.organizations.addMember({ id: organization.id, email: 'crew@example.org' })
  await owner.client.projects.update({ id: board.projectId, organizationId: organization.id })
  for (const [name, role] of [
    ['manager', 'admin'],
    ['member', 'member'],
    ['viewer', 'viewer'],
  ] as const)
    await owner.client.members.add({ id: board.projectId, email: `${name}@example.org`, role })
  const second = await opened(people.member.token)
  const following = await follow(board.url, people.viewer.token, board.projectId)
  sockets.push(following)

  const { id } = await board.start('crashing', { title: 'Second' })
  for (const name of ['owner', 'manager', 'member'] as const)
    expect(await untilTold(people[name].socket, id, 'agentFailed')).toMatchObject({
      userId: people[name].id,
      cardTitle: 'Second',
      message: expect.stringMatching(/^The agent has failed: /),
    })
  expect(await untilTold(second, id, 'agentFailed')).toMatchObject({ userId: people.member.id })
  // The local token now acts as the first super_admin, who is the owner.
  expect(await untilTold(board.socket, id, 'agentFailed')).toMatchObject({ userId: owner.id })
  await settled(owner.socket)
  for (const socket of [people.viewer.socket, following, people.crew.socket, people.stranger.socket])
    expect(told(socket)).toEqual([])
  for (const { id: userId, socket } of [owner, people.member])
    expect(new Set(told(socket).map(each => each.userId))).toEqual(new Set([userId]))
  expect(about(people.member.socket, id)).toHaveLength(1)
})

test('each user gets only the enabled notifications, in the enabled ways', async () => {
  const { owner, member, manager } = people
  await Promise.all([
    member.client.notifications.set({ agentCompleted: false }),
    manager.client.notifications.set({ sound: false, desktop: false }),
  ])
  const id = await ends('completed')
  expect(await untilTold(manager.socket, id, 'agentCompleted')).toMatchObject({ sound: false, desktop: false })
  expect(await untilTold(owner.socket, id, 'agentCompleted')).toMatchObject({ sound: true, desktop: true })
  await untilTold(member.socket, await ends('failed'), 'agentFailed')
  expect(about(member.socket, id)).toEqual([])
})

test('a waiting agent causes one notification with its question, and another when it waits again', async () => {
  const { owner } = people
  const { id } = await board.start('asking', { title: 'Asks' })
  expect(await untilTold(owner.socket, id, 'agentWaiting')).toMatchObject({
    message: 'The agent is waiting for you: Write allowed.txt',
  })
  await board.untilStatus(id, 'waiting')
  const session = Number((await board.client.agents.get({ projectId: board.projectId, cardId: id })).sessionId)
  const wait = (title: string) =>
    board.server.app.db.transaction(tx =>
      markWaiting(tx, session, JSON.stringify([{ requestId: 'one', title, kind: 'edit' }]), title),
    )
  const events = () =>
    board.socket.messages.filter(
      ({ type, data }) => type === 'agent.status' && data.sessionId === String(session) && data.status === 'waiting',
    ).length
  await wait('Another question')
  await eventually('the second question', () => events() === 2)
  await board.server.app.db.transaction(tx => markRunning(tx, session))
  await wait('A third question')
  await eventually('the third question', () => about(owner.socket, id).length === 2)
  expect(about(owner.socket, id).map(({ message }) => message)).toEqual([
    'The agent is waiting for you: Write allowed.txt',
    'The agent is waiting for you: A third question',
  ])
  await board.client.agents.cancel({ projectId: board.projectId, cardId: id })
  await settled(owner.socket)
  expect(about(owner.socket, id)).toHaveLength(2)
})

test('an agent that waits to run a command causes a notification with the command, not only with its title', async () => {
  const { owner } = people
  const call = { kind: 'execute', title: 'A harmless thing', rawInput: { command: 'rm -rf /\ndate' } }
  const { id } = await board.start('running', { prompt: JSON.stringify({ call }) })
  expect(await untilTold(owner.socket, id, 'agentWaiting')).toMatchObject({
    message: 'The agent is waiting for you: A harmless thing ($ rm -rf / date)',
  })
  await board.client.agents.cancel({ projectId: board.projectId, cardId: id })
})

test('pre-sessions and cancelled sessions cause no notification', async () => {
  const { owner } = people
  const id = await newCard('Refined')
  for (const purpose of ['pre', 'assistant'] as const)
    await endedSession(board, { projectId: board.projectId, cardId: id }, 'completed', purpose)
  const cancelled = await newCard('Cancelled')
  await endedSession(board, { projectId: board.projectId, cardId: cancelled }, 'cancelled')
  await settled(owner.socket)
  expect([...about(owner.socket, id), ...about(owner.socket, cancelled)]).toEqual([])
})

test('a monitor that starts to fail causes a notification', async () => {
  const { owner } = people
  const { id: cardId } = await board.client.cards.create({
    projectId: board.projectId,
    title: 'Watched',
    columnId: board.columns.active,
    deferred: true,
  })
  const { token } = await board.client.agents.token({ projectId: board.projectId, cardId })
  await board.as(token).monitors.create({
    projectId: board.projectId,
    cardId,
    command: 'exit 3',
    intervalSecs: 10,
    description: 'The site',
    allowUnsandboxed: true,
  })
  expect(await untilTold(owner.socket, cardId, 'monitorFailing')).toMatchObject({
    cardTitle: 'Watched',
    message: 'The monitor "The site" failed with exit code 3.',
  })
})

test('a webhook URL also receives it, signed with the secret that was shown', async () => {
  const { owner, member } = people
  const { webhookSecret } = await member.client.notifications.set({
    webhookUrl: `${receiver.url}/member`,
    agentFailed: false,
  })
  const id = await ends('completed', 'Signed')
  await untilTold(owner.socket, id, 'agentCompleted')
  const delivery = await eventually('the delivery', () =>
    receiver.at('/member').find(({ message }) => message.data.cardId === id),
  )
  expect(verified(webhookSecret!, delivery)).toMatchObject({
    type: 'notification',
    data: { userId: member.id, kind: 'agentCompleted', cardTitle: 'Signed', projectId: board.projectId },
  })
  const crash = await ends('failed')
  await untilTold(owner.socket, crash, 'agentFailed')
  await settled(member.socket)
  expect(receiver.received.filter(({ message }) => message.data.cardId === crash)).toEqual([])
})

test('events during a pause of the notifier are notified once when it resumes', async () => {
  const { owner } = people
  const { notifier } = board.server.app
  await notifier.stop()
  const id = await ends('completed', 'Meanwhile')
  expect(about(owner.socket, id)).toEqual([])
  notifier.start(createStderrLog('error'))
  await untilTold(owner.socket, id, 'agentCompleted')
  await settled(owner.socket)
  expect(about(owner.socket, id)).toHaveLength(1)
})

test('a user who loses access to the project is not notified', async () => {
  const { owner, member } = people
  const id = await newCard('Secret')
  const data = {
    kind: 'agentCompleted' as const,
    projectId: board.projectId,
    cardId: id,
    cardTitle: 'Secret',
    message: 'Done.',
    desktop: true,
    sound: true,
    at: new Date().toISOString(),
  }
  const tell = (userId: string) =>
    board.server.app.db.transaction(tx => appendEvent(tx, 'notification', null, { ...data, userId }))
  await tell(member.id)
  await untilTold(member.socket, id, 'agentCompleted')
  await owner.client.members.remove({ projectId: board.projectId, userId: member.id })
  await tell(member.id)
  await tell(owner.id)
  await untilTold(owner.socket, id, 'agentCompleted')
  await settled(owner.socket)
  expect(about(member.socket, id)).toHaveLength(1)
  await owner.client.members.add({ id: board.projectId, email: member.email, role: 'member' })
})

test('a client that does not read gets a limited number of messages', async () => {
  const { owner } = people
  const raw = await openRaw(board.url, `/api/ws?token=${owner.token}`)
  raw.socket.pause()
  const message = 'x'.repeat(50_000)
  const data = {
    kind: 'agentCompleted' as const,
    projectId: board.projectId,
    cardId: '1',
    cardTitle: 'Loud',
    message,
    desktop: true,
    sound: true,
    at: new Date().toISOString(),
    userId: owner.id,
  }
  const many = 1000
  for (let count = 50; count <= many; count += 50) {
    await board.server.app.db.transaction(async tx => {
      for (let each = 0; each < 50; each++) await appendEvent(tx, 'notification', null, data)
    })
    await eventually(
      'the other socket to have all',
      () => told(owner.socket).filter(({ cardTitle }) => cardTitle === 'Loud').length === count,
    )
  }
  raw.socket.resume()
  raw.frame('{"type":"ping"}')
  await eventually('the pong', () => raw.received().includes('"pong"'), 10_000)
  expect(raw.received().length).toBeLessThan((many * message.length) / 2)
  raw.socket.destroy()
})

test('an assigned user is notified, except for assignments by that user and with the setting disabled', async () => {
  const { owner, member, viewer, manager } = people
  await manager.client.notifications.set({ assigned: false })
  const { projectId } = board
  const { id } = await owner.client.cards.create({
    projectId,
    title: 'Assigned',
    deferred: true,
    assigneeIds: [member.id, owner.id, manager.id],
  })
  expect(await untilTold(member.socket, id, 'assigned')).toMatchObject({
    userId: member.id,
    message: expect.stringMatching(/ assigned the card to you\.$/),
    cardTitle: 'Assigned',
  })
  await owner.client.cards.update({ projectId, cardId: id, assigneeIds: [member.id, viewer.id] })
  await untilTold(viewer.socket, id, 'assigned')
  await settled(member.socket)
  expect([owner, member, manager].map(({ socket }) => about(socket, id).length)).toEqual([0, 1, 0])
})

test('a watcher of a card is notified without working on it, and a user who stops watching is not', async () => {
  const { owner, member, viewer, crew, stranger } = people
  const { projectId } = board
  const mine = await crew.client.cards.create({ projectId, title: 'Watched', deferred: true, assigneeIds: [viewer.id] })
  await member.client.cards.update({ projectId, cardId: mine.id, watching: false })
  await endedSession(board, { projectId, cardId: mine.id }, 'failed')
  for (const { socket } of [owner, viewer, crew]) await untilTold(socket, mine.id, 'agentFailed')
  await settled(member.socket)
  expect([member, stranger].map(({ socket }) => about(socket, mine.id).length)).toEqual([0, 0])
})

test('a watcher who loses access to the project is not notified', async () => {
  const { owner, viewer } = people
  const { projectId } = board
  const { id } = await owner.client.cards.create({ projectId, title: 'Left', deferred: true, assigneeIds: [viewer.id] })
  await untilTold(viewer.socket, id, 'assigned')
  await owner.client.members.remove({ projectId, userId: viewer.id })
  await endedSession(board, { projectId, cardId: id }, 'failed')
  await untilTold(owner.socket, id, 'agentFailed')
  expect(about(viewer.socket, id).map(({ kind }) => kind)).toEqual(['assigned'])
})
