import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { events, eventSpec, type EventType } from '../../src/contract/server/events.ts'
import { projectPermissions, type Permission } from '../../src/contract/route.ts'
import { appendEvent } from '../../src/events/outbox.ts'
import { insertMonitor } from '../../src/store/automation/monitors.ts'
import { insertSession } from '../../src/store/agents/sessions.ts'
import type { Reply, TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { openSocket, type LiveSocket, type Message } from '../support/receivers/liveSocket.ts'
import { fileBody, seed, startSlotlessBoard, type Seed } from '../support/contract/seed.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'

let board: TestBoard
let place: Seed
const sockets: LiveSocket[] = []

beforeAll(async () => {
  board = await startSlotlessBoard()
  await board.as().auth.setup({ email: 'root@example.org', password: 'root password' })
  place = await seed(board)
})
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.close()
})
afterAll(() => board.close())

const open = async (token: string) => {
  const socket = await openSocket(board.url, token)
  sockets.push(socket)
  return socket
}
/** Subscribes and returns the socket, or throws the reason for a refusal. */
async function listen(token: string, projectId: string, since?: number): Promise<LiveSocket> {
  const live = await open(token)
  live.send({ type: 'subscribe', payload: { projectId, since } })
  await eventually('an answer', () => live.messages.some(({ type }) => type === 'subscribed' || type === 'error'))
  return live
}
const told = (live: LiveSocket) =>
  live.messages.filter(({ seq, type }) => seq !== undefined && type !== 'resync' && type !== 'inbox.updated')
const newKey = async (permissions: Permission[], projectId = place.projectId) =>
  (await board.client.keys.create({ name: 'k', scope: 'project', projectId, permissions })).key
let people = 0
const person = async () =>
  registerConfirmed(board, { email: `hearer${++people}@example.org`, password: 'a long password' })
const asMember = async (projectId: string, role: 'viewer' | 'member') => {
  const { token, user } = await person()
  await board.client.members.add({ id: projectId, email: user.email, role })
  return { token, id: user.id, client: board.as(token) }
}

/** Per event type, the requests that each return the data of the event. */
const readers: Record<Exclude<EventType, 'notification' | 'inbox.updated'>, Array<(at: Seed) => string>> = (() => {
  const project = ({ projectId }: Seed) => `/api/projects/${projectId}`
  const externalBoards = ({ projectId }: Seed) => `/api/external/projects/${projectId}/boards`
  const boards = [(at: Seed) => `${project(at)}/boards`, externalBoards]
  const columns = [(at: Seed) => `${project(at)}/columns`, externalBoards]
  const card = [(at: Seed) => `${project(at)}/cards/${at.cardId}`]
  const agent = [(at: Seed) => `${project(at)}/cards/${at.cardId}/agent`]
  const messages = [(at: Seed) => `${project(at)}/cards/${at.cardId}/agent/messages`]
  const monitors = [(at: Seed) => `${project(at)}/monitors`]
  const gates = [(at: Seed) => `${project(at)}/gates`]
  const scripts = [(at: Seed) => `${project(at)}/scripts/status?scriptId=${at.scriptId}`]
  const schedules = [(at: Seed) => `${project(at)}/schedules`]
  const attachments = [(at: Seed) => `${project(at)}/cards/${at.cardId}/attachments`]
  const reviews = [(at: Seed) => `${project(at)}/cards/${at.cardId}/reviews`]
  const comments = [(at: Seed) => `${project(at)}/cards/${at.cardId}/comments`]
  const budgets = [(at: Seed) => `${project(at)}/budgets`]
  return {
    'project.created': [project],
    'project.updated': [project],
    // The event has only the project's id, and a 404 response to any request reveals as much.
    'project.deleted': [],
    'board.created': boards,
    'board.updated': boards,
    'board.deleted': boards,
    'board.reordered': boards,
    'column.created': columns,
    'column.updated': columns,
    'column.deleted': columns,
    'column.reordered': columns,
    'card.created': card,
    'card.updated': card,
    'card.archived': card,
    'card.unarchived': card,
    'card.restored': card,
    'card.completed': card,
    'card.merged': card,
    'card.ready': card,
    'card.assigned': card,
    'card.moved': card,
    'card.deleted': card,
    'card.viewed': card,
    'agent.status': agent,
    'agent.message': messages,
    'agent.tool': messages,
    'agent.plan': messages,
    'agent.permission': messages,
    'agent.usage': agent,
    'preview.updated': [(at: Seed) => `${project(at)}/cards/${at.cardId}/preview`],
    'budget.created': budgets,
    'budget.updated': budgets,
    'budget.deleted': budgets,
    'budget.warned': budgets,
    'budget.exhausted': budgets,
    'monitor.created': monitors,
    'monitor.updated': monitors,
    'monitor.deleted': monitors,
    'schedule.created': schedules,
    'schedule.updated': schedules,
    'schedule.deleted': schedules,
    'gate.created': gates,
    'gate.updated': gates,
    'gate.deleted': gates,
    'landing.updated': [(at: Seed) => `${project(at)}/landings/${at.landingId}`],
    'landing.paused': [(at: Seed) => `${project(at)}/landings`],
    'proof.updated': [(at: Seed) => `${project(at)}/cards/${at.cardId}/proofs/${at.proofId}`],
    'script.started': scripts,
    'script.finished': scripts,
    'attachment.created': attachments,
    'attachment.deleted': attachments,
    'comment.created': comments,
    'comment.updated': comments,
    'comment.deleted': comments,
    'pull_request.updated': card,
    'review.submitted': reviews,
    'review.answered': reviews,
  }
})()

/** Publishes one event of each type with the records of the place. Column events contain the instructions of agents there. */
async function tellEverything(at: Seed): Promise<void> {
  const { db } = board.server.app
  const fields = {
    id: '',
    cardId: at.cardId,
    boardId: at.boardId,
    sessionId: at.sessionId,
    scriptId: at.scriptId,
    reviewId: at.reviewId,
    name: 'N',
    columnType: 'active',
    position: 0,
    prompt: 'secret instructions',
    command: 'true',
    description: null,
    status: 'ok',
    mentioned: [],
    assignedIds: [],
    by: { userId: null, name: '' },
  }
  await db.transaction(async tx => {
    for (const type of Object.keys(readers) as EventType[]) {
      const [kind] = type.split('.') as [string]
      const ids: Record<string, string> = {
        project: at.projectId,
        board: at.boardId,
        column: at.columnId,
        card: at.cardId,
        monitor: at.monitorId,
        attachment: at.attachmentId,
        comment: at.commentId,
        review: at.reviewId,
        schedule: at.scheduleId,
        budget: at.budgetId,
        gate: at.gateId,
        proof: at.proofId,
      }
      const data = {
        ...fields,
        id: ids[kind] ?? '1',
        ...(kind === 'monitor' && { cardId: at.archivedCardId }),
      }
      await appendEvent(tx, type, Number(at.projectId), (type.endsWith('reordered') ? [data] : data) as never)
    }
  })
}

const callers: Array<[string, () => Promise<string>]> = [
  ['a viewer', async () => (await asMember(place.projectId, 'viewer')).token],
  ['a member', async () => (await asMember(place.projectId, 'member')).token],
  ['an agent token', async () => place.agentToken],
  ['somebody else', async () => (await person()).token],
  ...projectPermissions.map((permission): [string, () => Promise<string>] => [
    `a key with ${permission}`,
    () => newKey([permission]),
  ]),
]

test.each(callers)(
  '%s receives of each type exactly what the routes let it read, live and in replays',
  async (_, make) => {
    const token = await make()
    const since = await board.server.app.outbox.lastSeq()
    const live = await listen(token, place.projectId)
    await tellEverything(place)
    const everything = await listen(board.token, place.projectId, since)
    expect(new Set(told(everything).map(({ type }) => type))).toEqual(new Set(Object.keys(readers)))
    const reads = new Map<string, Promise<boolean>>()
    const mayRead = (path: string) => {
      if (!reads.has(path))
        reads.set(
          path,
          board.request('GET', path, { token }).then(({ status }: Reply) => status === 200),
        )
      return reads.get(path)!
    }
    const allowed: string[] = []
    let hearsSome = false
    for (const [type, routes] of Object.entries(readers)) {
      const may = (await Promise.all(routes.map(route => mayRead(route(place))))).some(Boolean)
      hearsSome ||= may
      if (may) allowed.push(type)
    }
    if (hearsSome) allowed.push('project.deleted')
    const later = await listen(token, place.projectId, since)
    if (hearsSome) {
      const end = (await later.message('subscribed')).data.seq
      expect(end).toBeGreaterThanOrEqual((await everything.message('subscribed')).data.seq)
      live.send({ type: 'subscribe', payload: { projectId: place.projectId } })
      await eventually(
        'the second answer',
        () => live.messages.filter(({ type }) => type === 'subscribed').length === 2,
      )
    } else expect(['INSUFFICIENT_PERMISSIONS', 'PROJECT_NOT_FOUND']).toContain((await later.message('error')).data.code)
    for (const heard of [live, later])
      expect(
        told(heard)
          .map(({ type }) => type)
          .sort(),
      ).toEqual(allowed.sort())
    const mayReadColumns = await mayRead(readers['column.created'][0]!(place))
    for (const { type, data } of [...told(live), ...told(later)].filter(({ type }) => /^column\.[^d]/.test(type)))
      expect([type, JSON.stringify(data).includes('secret instructions')]).toEqual([type, mayReadColumns])
  },
)

test('a notification of a monitor, which names its command, is sent only to keys that read monitors', async () => {
  const { projectId } = place
  const { id: userId } = await board.client.auth.me()
  const tell = (kind: 'agentCompleted' | 'monitorFailing') =>
    board.server.app.db.transaction(tx =>
      appendEvent(tx, 'notification', null, {
        userId: userId!,
        kind,
        projectId,
        cardId: place.cardId,
        cardTitle: 'Seeded',
        message: kind,
        desktop: false,
        sound: false,
        at: tx.now,
      }),
    )
  const hearers = [await open(await newKey(['cards.read'])), await open(await newKey(['cards.read', 'monitors.read']))]
  await tell('monitorFailing')
  await tell('agentCompleted')
  const heard = ({ messages }: LiveSocket) =>
    messages.filter(({ type }) => type === 'notification').map(({ data }) => data.kind)
  for (const socket of hearers)
    await eventually('the last notification', () => heard(socket).includes('agentCompleted'))
  expect(hearers.map(heard)).toEqual([['agentCompleted'], ['monitorFailing', 'agentCompleted']])
})

test('every type declares the permission to read it', () => {
  expect(Object.keys(events).sort()).toEqual([...Object.keys(readers), 'notification', 'inbox.updated'].sort())
  for (const type of Object.keys(events) as EventType[])
    if (type !== 'project.deleted') expect([type, eventSpec(type).permissions]).not.toEqual([type, []])
})

test('a subscriber with few rights gets past the events it cannot see, without a duplicate or a gap', async () => {
  const { id: projectId } = await board.client.projects.create({ name: 'Much', path: board.folder('much') })
  const since = await board.server.app.outbox.lastSeq()
  const { db } = board.server.app
  // First more than a page of events that the subscriber cannot see, then one that it can.
  await db.transaction(async tx => {
    for (let index = 0; index < 200; index++)
      await appendEvent(tx, 'script.started', Number(projectId), { scriptId: String(index + 1) } as never)
  })
  await board.client.cards.create({ projectId, title: 'first' })
  const live = await listen(await newKey(['cards.read'], projectId), projectId, since)
  await live.message('card.created', ({ data }) => data.title === 'first')
  await board.client.cards.create({ projectId, title: 'second' })
  await live.message('card.created', ({ data }) => data.title === 'second')
  expect(told(live).map(({ data }) => data.title)).toEqual(['first', 'second'])
  expect(live.seqs()).toEqual([...live.seqs()].sort((a, b) => a - b))
  expect(live.messages.some(({ type }) => type === 'resync')).toBe(false)
})

test('events of deleted objects are not replayed, except their deletion', async () => {
  const { id: projectId } = await board.client.projects.create({ name: 'Past', path: board.folder('past') })
  const since = await board.server.app.outbox.lastSeq()
  const client: Client = board.client
  const [stays, goes] = await Promise.all(
    ['stays', 'gone secret'].map(title => client.cards.create({ projectId, title, prompt: title })),
  )
  const { db } = board.server.app
  const sessionId = await db.transaction(tx =>
    insertSession(tx, {
      projectId: Number(projectId),
      cardId: Number(goes!.id),
      purpose: 'work',
      agent: 'fixture',
      status: 'completed',
      prompt: '',
    }),
  )
  await db.transaction(async tx => {
    const message = {
      id: '1',
      sessionId: String(sessionId),
      role: 'agent',
      content: 'gone secret',
      tool: null,
      at: tx.now,
    }
    await appendEvent(tx, 'agent.message', Number(projectId), message as never)
    const monitorId = await insertMonitor(tx, {
      projectId: Number(projectId),
      cardId: Number(goes!.id),
      command: 'echo gone secret',
      intervalSecs: 60,
      description: null,
      cwd: '/',
      byAgent: false,
    } as never)
    await appendEvent(tx, 'monitor.created', Number(projectId), {
      id: String(monitorId),
      cardId: goes!.id,
      command: 'echo gone secret',
      description: null,
      status: 'ok',
    } as never)
  })
  await board.request('POST', `/api/projects/${projectId}/cards/${goes!.id}/attachments`, fileBody('gone secret.txt'))
  const extra = await client.boards.create({ projectId, name: 'gone secret' })
  const [first] = await client.boards.list({ projectId })
  const column = await client.columns.create({
    projectId,
    boardId: first!.id,
    name: 'gone secret',
    columnType: 'backlog',
  })
  const script = await client.scripts.create({ projectId, name: 'S', command: 'echo gone secret' })
  await client.scripts.run({ projectId, scriptId: script.id })
  await eventually('the end of the script', async () => {
    const { status } = (await client.scripts.status({ projectId, scriptId: script.id })) as { status?: string }
    return status !== 'running'
  })
  const { token } = await asMember(projectId, 'viewer')
  const before = await listen(token, projectId, since)
  expect(JSON.stringify(told(before))).toContain('gone secret')

  await client.boards.reorder({ projectId, ids: [extra.id, first!.id] })
  await client.cards.delete({ projectId, cardId: goes!.id })
  await client.boards.delete({ projectId, boardId: extra.id })
  await client.columns.delete({ projectId, columnId: column.id })
  await client.scripts.delete({ projectId, scriptId: script.id })
  const after = await listen(token, projectId, since)
  expect(JSON.stringify(told(after))).not.toContain('gone secret')
  const types = told(after).map(({ type, data }: Message) => `${type} ${data.id ?? ''}`)
  expect(types).toContain(`card.created ${stays!.id}`)
  expect(types).toContain(`card.deleted ${goes!.id}`)
  expect(types).toContain(`board.deleted ${extra.id}`)
  const reordered = told(after).find(({ type }) => type === 'board.reordered')
  expect(reordered!.data.map(({ id }: { id: string }) => id)).toEqual([first!.id])

  await client.cards.restore({ projectId, cardId: goes!.id })
  const again = await listen(token, projectId, since)
  expect(told(again).filter(({ type }) => type === 'card.created')).toHaveLength(2)
})

test('a key creates webhooks only for events it can read, cannot redirect existing webhooks, and sees only their permitted deliveries', async () => {
  const { projectId } = place
  const url = 'http://127.0.0.1:9/'
  const hooks = `/api/projects/${projectId}/webhooks`
  const token = await newKey(['webhooks.write', 'webhooks.read', 'cards.read'])
  const codeOf = async (reply: Promise<Reply>) => (await reply).body?.error?.code ?? (await reply).status
  const make = (events: string[]) => codeOf(board.request('POST', hooks, { token, body: { url, events } }))
  expect(await make(['card.moved', 'board.created'])).toBe(201)
  for (const type of ['agent.message', 'script.finished', 'monitor.created', 'column.created', 'project.updated'])
    expect([type, await make(['card.moved', type])]).toEqual([type, 'INSUFFICIENT_PERMISSIONS'])
  const foreign = await board.client.webhooks.create({ projectId, url, events: ['agent.message', 'card.moved'] })
  const change = (body: object) => codeOf(board.request('PATCH', `${hooks}/${foreign.id}`, { token, body }))
  expect(await change({ url: 'http://127.0.0.1:10/' })).toBe('INSUFFICIENT_PERMISSIONS')
  expect(await change({ events: ['agent.tool'] })).toBe('INSUFFICIENT_PERMISSIONS')
  await board.server.app.db.transaction(tx =>
    appendEvent(tx, 'agent.message', Number(projectId), {
      id: '1',
      sessionId: place.sessionId,
      cardId: place.cardId,
      cardTitle: 'Audience',
      role: 'agent',
      content: 'said in confidence',
      tool: null,
      attachments: [],
      at: tx.now,
    }),
  )
  const bodies = async (as: string) =>
    (await board.request('GET', `${hooks}/${foreign.id}/deliveries`, { token: as })).body.data.items.map(
      ({ request }: { request: { body: string } }) => request.body,
    )
  await eventually('the delivery', async () => (await bodies(board.token)).length === 1)
  expect((await bodies(board.token))[0]).toContain('said in confidence')
  expect(await bodies(token)).toEqual([''])
  expect(await change({ enabled: false })).toBe(200)
})

/** Writes cards without a pause until it is stopped; each card's title is the time at which its request was sent. */
function flood(projectId: string): { stop(): Promise<void> } {
  let running = true
  const writing = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (running) await board.client.cards.create({ projectId, title: String(performance.now()) })
    }),
  )
  return {
    stop: async () => {
      running = false
      await writing
    },
  }
}

interface Ending {
  token: string
  end(): Promise<unknown>
}
type Way = (projectId: string) => Promise<Ending>
const organized = async (projectId: string) => {
  const { id } = await board.client.organizations.create({ name: 'Org' })
  await board.client.projects.update({ id: projectId, organizationId: id })
  const { token, user } = await person()
  await board.client.organizations.addMember({ id, email: user.email })
  return { id, token, userId: user.id }
}
const ways: Record<string, Way> = {
  'a removed member': async projectId => {
    const { token, id } = await asMember(projectId, 'member')
    return { token, end: () => board.client.members.remove({ projectId, userId: id }) }
  },
  "a removed member's key": async projectId => {
    const { client, id } = await asMember(projectId, 'member')
    const { key } = await client.keys.create({ name: 'k', scope: 'server', permissions: ['cards.read'] })
    return { token: key, end: () => board.client.members.remove({ projectId, userId: id }) }
  },
  'a member who leaves the organization': async projectId => {
    const { id, token, userId } = await organized(projectId)
    return { token, end: () => board.client.organizations.removeMember({ id, userId }) }
  },
  'a member of the organization that loses the project': async projectId => {
    const { token } = await organized(projectId)
    return { token, end: () => board.client.projects.update({ id: projectId, organizationId: null }) }
  },
  'an administrator who becomes a user': async () => {
    const { token, user } = await person()
    await board.client.users.update({ id: user.id, role: 'admin' })
    return { token, end: () => board.client.users.update({ id: user.id, role: 'user' }) }
  },
  'a deleted account': async projectId => {
    const { token, id } = await asMember(projectId, 'viewer')
    return { token, end: () => board.client.users.delete({ id }) }
  },
  'an ended sign-in': async projectId => {
    const { token, client } = await asMember(projectId, 'viewer')
    return { token, end: () => client.auth.logout() }
  },
  'a sign-in whose password is reset': async projectId => {
    const { token, id } = await asMember(projectId, 'viewer')
    return { token, end: () => board.client.users.resetPassword({ id }) }
  },
  'a revoked key': async projectId => {
    const { id, key } = await board.client.keys.create({
      name: 'k',
      scope: 'project',
      projectId,
      permissions: ['cards.read'],
    })
    return { token: key, end: () => board.client.keys.revoke({ id }) }
  },
}

test.each(Object.entries(ways))('%s receives no events after the response', async (_, way) => {
  const { id: projectId } = await board.client.projects.create({ name: 'Flood', path: board.folder('flood') })
  const writing = flood(projectId)
  for (let round = 0; round < 3; round++) {
    const { token, end } = await way(projectId)
    const live = await listen(token, projectId)
    await live.message('card.created')
    await end()
    const answeredAt = performance.now()
    const seqAtAnswer = await board.server.app.outbox.lastSeq()
    // Longer than the interval of the check, which runs twice a second.
    await delay(600)
    const late = told(live).filter(({ seq, data }) => seq > seqAtAnswer || Number(data.title) > answeredAt)
    expect(late).toEqual([])
    live.close()
  }
  await writing.stop()
})

test('a member who keeps access to the project misses no events while the rights of others change', async () => {
  const { id: projectId } = await board.client.projects.create({ name: 'Flood', path: board.folder('flood') })
  const { token } = await asMember(projectId, 'viewer')
  const live = await listen(token, projectId)
  const since = (await live.message('subscribed')).data.seq
  const writing = flood(projectId)
  for (let round = 0; round < 3; round++) {
    const { id } = await asMember(projectId, 'member')
    await board.client.members.remove({ projectId, userId: id })
    await board.client.projects.update({ id: projectId, organizationId: null })
  }
  await writing.stop()
  const last = await board.server.app.outbox.lastSeq()
  const all = await listen(board.token, projectId, since)
  await eventually('the last event', () => live.seqs().at(-1) === last || undefined)
  expect(live.seqs()).toEqual(all.seqs())
})
