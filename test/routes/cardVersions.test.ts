import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: TestBoard
let projectId: string
let columnId: string
let path: string
beforeAll(async () => {
  board = await startBoard({ externalRequestsPerMinute: Infinity })
})
afterAll(() => board.close())
beforeEach(async () => {
  projectId = (await board.client.projects.create({ name: 'Versions', path: board.dataDir })).id
  columnId = (await board.client.columns.list({ projectId }))[1]!.id
  path = `/api/projects/${projectId}/cards/${(await board.client.cards.create({ projectId, title: 'a' })).id}`
})

const codeOf = ({ status, body }: Reply) => [status, body?.error?.code]

describe('If-Match', () => {
  const update = (ifMatch: string) =>
    board.request('PATCH', path, { body: { title: 'b' }, headers: { 'if-match': ifMatch } })
  const move = (ifMatch: string) =>
    board.request('PATCH', `${path}/move`, { body: { columnId }, headers: { 'if-match': ifMatch } })

  it("accepts a change with the current version, which the response's ETag states", async () => {
    const etag = (await board.request('GET', path)).headers.get('etag')!
    expect(etag).toBe('"1"')
    const changed = await update(etag)
    expect([changed.status, changed.headers.get('etag'), changed.body.data.version]).toEqual([200, '"2"', 2])
    expect((await move('"2"')).headers.get('etag')).toBe('"3"')
  })

  it('rejects a change with another version, and changes nothing', async () => {
    for (const ifMatch of ['"2"', '"0"', '1', '""', 'nonsense', '"1', '"2", "3"'])
      for (const change of [update, move])
        expect(codeOf(await change(ifMatch)), ifMatch).toEqual([412, 'VERSION_CONFLICT'])
    expect((await board.request('GET', path)).body.data).toMatchObject({ title: 'a', version: 1 })
  })

  it('accepts any version for *, and one of a list', async () => {
    expect((await update('*')).status).toBe(200)
    expect((await update('"7", "2"')).status).toBe(200)
  })

  it('lets one of many writers with the same version win', async () => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        board.request('PATCH', path, { body: { title: `t${i}` }, headers: { 'if-match': '"1"' } }),
      ),
    )
    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 19 }, () => 412)])
  })

  it('applies to the external move also', async () => {
    const { key } = await board.client.keys.create({
      name: 'k',
      scope: 'project',
      projectId,
      permissions: ['cards.move'],
    })
    const externalMove = (ifMatch: string) =>
      board.request('PATCH', `${path.replace('/api', '/api/external')}/move`, {
        token: key,
        body: { targetColumnId: Number(columnId), position: 0 },
        headers: { 'if-match': ifMatch },
      })
    expect(codeOf(await externalMove('"5"'))).toEqual([412, 'VERSION_CONFLICT'])
    expect((await externalMove('"1"')).headers.get('etag')).toBe('"2"')
  })
})

describe('Idempotency-Key', () => {
  let keys = 0
  const newKey = () => `key-${projectId}-${++keys}`
  const create = (key: string, body: object = {}, token = board.token) =>
    board.request('POST', '/api/cards', {
      token,
      body: { projectId, title: 'once', ...body },
      headers: { 'idempotency-key': key },
    })
  const cards = async () => (await board.client.cards.list({ projectId })).length

  it('gives equal requests the same response, and executes once', async () => {
    const key = newKey()
    const first = await create(key)
    await board.client.cards.update({ projectId, cardId: first.body.data.id, title: 'changed since' })
    const again = await create(key)
    expect([first.status, again.status, again.text]).toEqual([201, 201, first.text])
    expect(await cards()).toBe(2)
  })

  it('treats two equivalent bodies as equal', async () => {
    const key = newKey()
    const first = await create(key, { prompt: '' })
    const again = await board.request('POST', '/api/cards', {
      raw: `{"title":"once",\n "projectId":${projectId}}`,
      headers: { 'idempotency-key': key },
    })
    expect(again.text).toBe(first.text)
  })

  it('rejects another body with the same key', async () => {
    const key = newKey()
    await create(key)
    expect(codeOf(await create(key, { title: 'twice' }))).toEqual([409, 'IDEMPOTENCY_KEY_REUSED'])
    expect(
      codeOf(
        await board.request('POST', `/api/projects/${projectId}/boards`, {
          body: { name: 'once' },
          headers: { 'idempotency-key': key },
        }),
      ),
    ).toEqual([409, 'IDEMPOTENCY_KEY_REUSED'])
    expect(await cards()).toBe(2)
  })

  it('executes twenty concurrent equal requests once, and rejects others with the key', async () => {
    const key = newKey()
    const replies = await Promise.all(Array.from({ length: 20 }, () => create(key)))
    expect([...new Set(replies.map(({ status, text }) => `${status} ${text}`))]).toHaveLength(1)
    expect(replies[0]!.status).toBe(201)
    const different = newKey()
    const mixed = await Promise.all(Array.from({ length: 20 }, (_, i) => create(different, { title: `t${i}` })))
    expect(mixed.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 19 }, () => 409)])
    expect(await cards()).toBe(3)
  })

  it("sends a card's event once", async () => {
    const { db } = board.server.app
    const told = async () =>
      (await db.get<{ n: number }>('SELECT count(*) AS n FROM events WHERE type = ? AND project_id = ?', [
        'card.created',
        Number(projectId),
      ]))!.n
    const before = await told()
    const key = newKey()
    await Promise.all(Array.from({ length: 5 }, () => create(key)))
    await eventually('the event', async () => (await told()) === before + 1)
  })

  it('is not used up by a request that fails', async () => {
    const key = newKey()
    expect((await create(key, { title: '' })).status).toBe(400)
    expect((await create(key, { columnId: '999999' })).status).toBe(404)
    expect((await create(key)).status).toBe(201)
  })

  it('belongs to its caller', async () => {
    const key = newKey()
    const made = await create(key)
    for (const n of [1, 2]) {
      const token = (
        await board.client.keys.create({ name: `k${n}`, scope: 'project', projectId, permissions: ['cards.create'] })
      ).key
      const other = await create(key, {}, token)
      expect(other.status).toBe(201)
      expect(other.body.data.id).not.toBe(made.body.data.id)
    }
  })

  it('applies to the external create and to boards and projects also', async () => {
    const { key: token } = await board.client.keys.create({
      name: 'k',
      scope: 'project',
      projectId,
      permissions: ['cards.create'],
    })
    const requests: Array<[string, object, string]> = [
      [`/api/external/projects/${projectId}/cards`, { title: 'x' }, token],
      [`/api/projects/${projectId}/boards`, { name: 'x' }, board.token],
      ['/api/projects', { name: 'x', path: board.dataDir }, board.token],
      [
        `/api/projects/${projectId}/columns`,
        { name: 'x', columnType: 'done', boardId: (await board.client.boards.list({ projectId }))[0]!.id },
        board.token,
      ],
    ]
    for (const [url, body, token] of requests) {
      const headers = { 'idempotency-key': newKey() }
      const [first, again] = [
        await board.request('POST', url, { token, body, headers }),
        await board.request('POST', url, { token, body, headers }),
      ]
      expect([first.status, again.status, again.text]).toEqual([201, 201, first.text])
    }
  })

  it('must have 1 to 255 characters', async () => {
    for (const key of ['', 'x'.repeat(256)]) expect(codeOf(await create(key))).toEqual([400, 'VALIDATION_FAILED'])
    expect((await create('x'.repeat(255))).status).toBe(201)
  })
})
