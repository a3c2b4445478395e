import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { externalPermissions } from '../../src/contract/route.ts'
import { updateCard } from '../../src/store/cards/cards.ts'
import { newSession } from '../support/agents/agentRows.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let projectId: string
let columns: string[]
let key: string

/** Every character below the space, and others that could break a text of JSON, of SQL or of another encoding. */
const hostile = `${Array.from({ length: 31 }, (_, at) => String.fromCharCode(at + 1)).join('')}"\\/'%_é\u007f\u0080ÿ\u2028\u2029日本🙂</script>`

beforeAll(async () => {
  board = await startBoard()
  projectId = (await board.client.projects.create({ name: 'Texts', path: board.dataDir })).id
  columns = (await board.client.columns.list({ projectId })).map(({ id }) => id)
  key = (await board.client.keys.create({ name: 'All', scope: 'server', permissions: [...externalPermissions] })).key
})
afterAll(() => board.close())

const external = (method: string, path: string, body?: unknown) =>
  board.request(method, `/api/external/projects/${projectId}/cards${path}`, { token: key, body })
const detail = async (cardId: string | number) =>
  (await board.request('GET', `/api/projects/${projectId}/cards/${cardId}`)).body.data as Record<string, unknown>
const items = async (query = '') =>
  (await board.request('GET', `/api/projects/${projectId}/cards${query}`)).body.data as Array<Record<string, unknown>>
const only = (whole: Record<string, unknown>, names: object) =>
  Object.fromEntries(Object.keys(names).map(name => [name, whole[name]]))

/** Cards of every kind and state that changes the view. */
async function makeCards(): Promise<void> {
  const create = (input: object) => board.client.cards.create({ projectId, title: 'Card', ...input })
  await create({ title: hostile, prompt: hostile, labels: [hostile.slice(0, 90), 'ü'], groupId: hostile.slice(-30) })
  const busy = Number((await create({ autoMode: true, useWorktree: false })).id)
  await create({ columnId: columns[1], deferred: true })
  await board.client.cards.archive({ projectId, cardId: (await create({ title: 'Away' })).id })
  const { db } = board.server.app
  for (const purpose of ['work', 'pre'] as const)
    await newSession(board, { projectId, cardId: String(busy) }, { purpose, agent: hostile, prompt: '' })
  await db.transaction(async tx => {
    await updateCard(tx, busy, {
      status: 'running',
      statusReason: 'usage_limit',
      unread: true,
      gitBranch: 'board/2',
      lastAgentAction: JSON.stringify({ type: 'running', at: tx.now, detail: hostile }),
      startedAt: tx.now,
      endedAt: tx.now,
    })
  })
}

describe('JSON that the database writes', () => {
  beforeAll(makeCards)

  it.each(['', '?archived=true'])('is in a list%s what the card itself says', async query => {
    const listed = await items(query)
    expect(listed.length).toBeGreaterThan(0)
    for (const item of listed) expect(item).toEqual(only(await detail(String(item.id)), item))
  })

  it('in an external card equals the fields of the view of a card', async () => {
    for (const { id } of await items()) {
      const { status, headers, body } = await external('GET', `/${String(id)}`)
      expect(status).toBe(200)
      const card = await detail(String(id))
      const { sessions, ...rest } = body.data
      expect(rest).toEqual({
        ...only(card, rest),
        ...Object.fromEntries(['id', 'projectId', 'boardId', 'columnId'].map(name => [name, Number(card[name])])),
      })
      expect(sessions).toEqual(
        (card.sessions as Array<{ id: string }>).map(session => ({ ...session, id: Number(session.id) })),
      )
      expect(headers.get('etag')).toBe(`"${String(card.version)}"`)
    }
  })

  it('is also the response to a change', async () => {
    const {
      body: { data: created },
    } = await external('POST', '', { title: hostile, prompt: hostile })
    expect(created.title).toBe(hostile)
    expect((await external('GET', `/${created.id}`)).body.data).toEqual(created)
    const { locks: _locks, sessions: _sessions, ...item } = created
    expect((await external('GET', `?cursor=${created.id - 1}`)).body.data.items).toEqual([item])
  })

  it('is empty for a card that external routes cannot access', async () => {
    const { id } = await board.client.cards.create({
      projectId,
      title: 'Shell',
      kind: 'terminal',
      command: 'true',
      useWorktree: false,
    })
    const requests = [
      ['GET', `/${id}`],
      ['PATCH', `/${id}/move`, { targetColumnId: Number(columns[2]), position: 0 }],
      ['POST', `/${id}/archive`],
      ['POST', `/${id}/agent/cancel`],
    ] as const
    for (const [method, path, body] of requests)
      expect((await external(method, path, body)).body.error?.code, path).toBe('CARD_NOT_FOUND')
    expect(await items(`?columnId=${columns[0]}&status=cancelled`)).toEqual([])
  })
})

describe('an answer', () => {
  it.each(['plain', 'é', 'ÿþ', '日本', '🙂'])('of %s arrives byte for byte, as long as it says', async title => {
    const { id } = await board.client.cards.create({ projectId, title })
    const reply = await fetch(`${board.url}/api/projects/${projectId}/cards/${id}`, {
      headers: { authorization: `Bearer ${board.token}` },
    })
    const bytes = Buffer.from(await reply.arrayBuffer())
    expect(JSON.parse(bytes.toString('utf8')).data.title).toBe(title)
    expect(reply.headers.get('content-length')).toBe(String(bytes.length))
    expect(reply.headers.get('transfer-encoding')).toBeNull()
    const head = await fetch(reply.url, { method: 'HEAD', headers: { authorization: `Bearer ${board.token}` } })
    expect([head.status, head.headers.get('content-length'), head.headers.get('etag'), await head.text()]).toEqual([
      200,
      String(bytes.length),
      reply.headers.get('etag'),
      '',
    ])
  })

  it('of a failure does so also', async () => {
    const reply = await board.request('POST', '/api/cards', { body: { projectId, title: 'x', é日: 1 } })
    expect([reply.status, reply.headers.get('content-length')]).toEqual([400, String(Buffer.byteLength(reply.text))])
    expect(reply.body.error.details).toEqual([{ path: 'é日', message: 'is not a known field' }])
  })
})
