import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openSocket } from '../support/receivers/liveSocket.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let projectId: string
let before: string
let token: string
let userId: string

beforeAll(async () => {
  board = await startBoard()
  projectId = (await board.client.projects.create({ name: 'People', path: board.dataDir })).id
  before = (await board.client.cards.create({ projectId, title: 'before anybody' })).id
  expect(await creator(before)).toEqual(['0', 'Local operator'])
  const setup = await board
    .as()
    .auth.setup({ email: 'anna@example.org', password: 'a long password', displayName: 'Anna Berg' })
  ;[token, userId] = [setup.token, setup.user.id]
})
afterAll(() => board.close())

const items = () => board.client.cards.list({ projectId })
const creator = async (cardId: string) => {
  const item = (await items()).find(({ id }) => id === cardId)!
  const detail = await board.client.cards.get({ projectId, cardId })
  expect([detail.creatorId, detail.creatorName]).toEqual([item.creatorId, item.creatorName])
  return [item.creatorId, item.creatorName]
}

it('names the creator of a card, also for a key', async () => {
  const { key } = await board
    .as(token)
    .keys.create({ name: 'k', scope: 'server', permissions: ['cards.create', 'pipelines.trigger'] })
  const own = await board.as(token).cards.create({ projectId, title: 'own' })
  const { body } = await board.request('POST', `/api/external/projects/${projectId}/cards`, {
    token: key,
    body: { title: 'by a program' },
  })
  for (const id of [own.id, String(body.data.id)]) expect(await creator(id)).toEqual([userId, 'Anna Berg'])
})

it('passes cards from before the first account to that account', async () => {
  expect(await creator(before)).toEqual([userId, 'Anna Berg'])
})

it('names an agent as the creator of its cards', async () => {
  const columns = await board.client.columns.list({ projectId })
  const columnId = columns.find(({ columnType }) => columnType === 'active')!.id
  const { id: cardId } = await board.client.cards.create({ projectId, title: 'work', columnId, deferred: true })
  const minted = await board.request('POST', `/api/projects/${projectId}/cards/${cardId}/agent-token`, {
    token,
    body: {},
  })
  await board.request('POST', '/api/mcp', {
    token: minted.body.data.token,
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'create_card', arguments: { title: 'of the agent' } },
    },
  })
  const made = (await items()).find(({ title }) => title === 'of the agent')!
  expect(await creator(made.id)).toEqual([null, 'Agent'])
})

it("keeps the name of a card's creator after the account is deleted", async () => {
  const { user, generatedPassword: password } = await board
    .as(token)
    .users.create({ email: 'bo@example.org', name: 'Bo', role: 'admin' })
  const signedIn = await board.as().auth.login({ email: 'bo@example.org', password })
  const { id } = await board.as(signedIn.token).cards.create({ projectId, title: 'of Bo' })
  await board.as(token).users.delete({ id: user.id })
  expect((await creator(id))[1]).toBe('Bo')
})

it("counts a card's attachments in lists, and sends the changed number", async () => {
  const { id: cardId, version } = await board.client.cards.create({ projectId, title: 'with files' })
  const columnId = (await board.client.cards.get({ projectId, cardId })).columnId
  const counts = async () => {
    const one = await board.client.cards.get({ projectId, cardId })
    expect(one.version).toBe(version)
    const places = [await items(), await board.client.cards.list({ projectId, columnId, offset: 0 })]
    return [one, ...places.map(list => list.find(({ id }) => id === cardId)!)].map(card => card.attachmentCount)
  }
  const socket = await openSocket(board.url, token)
  socket.send({ type: 'subscribe', payload: { projectId } })
  await socket.message('subscribed')
  const path = join(board.folder('files'), 'a.txt')
  writeFileSync(path, 'a')
  expect(await counts()).toEqual([0, 0, 0])
  const [first] = [
    await board.client.attachments.create({ projectId, cardId, file: { path } }),
    await board.client.attachments.create({ projectId, cardId, file: { path } }),
  ]
  expect(await counts()).toEqual([2, 2, 2])
  await board.client.attachments.delete({ attachmentId: first.id })
  expect(await counts()).toEqual([1, 1, 1])
  await socket.message('attachment.deleted')
  const told = socket.messages.filter(({ type }) => type.startsWith('attachment.'))
  expect(told.map(({ type, data }) => [type, data.cardId, data.attachmentCount])).toEqual([
    ['attachment.created', cardId, 1],
    ['attachment.created', cardId, 2],
    ['attachment.deleted', cardId, 1],
  ])
  socket.close()
})
