import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Permission } from '../../src/contract/route.ts'
import { startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'

const six: Permission[] = [
  'cards.read',
  'cards.create',
  'pipelines.trigger',
  'cards.move',
  'agents.cancel',
  'agents.archive',
]
let board: TestBoard
let key: string
let projectId: number
let boardId: number
let backlog: number
let active: number
let done: number
beforeAll(async () => {
  board = await startBoard({ externalRequestsPerMinute: Infinity })
  key = (await board.client.keys.create({ name: 'k', scope: 'server', permissions: six })).key
})
afterAll(() => board.close())
beforeEach(async () => {
  projectId = Number((await board.client.projects.create({ name: 'External', path: board.dataDir })).id)
  const columns = await board.client.columns.list({ projectId })
  boardId = Number(columns[0]!.boardId)
  ;[backlog, active, done] = columns.map(({ id }) => Number(id)) as [number, number, number]
})

const external = (method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply> =>
  board.request(method, `/api/external/projects/${projectId}${path}`, { token: key, body, headers })
const create = async (title: string, fields: object = {}): Promise<any> =>
  (await external('POST', '/cards', { title, ...fields })).body.data
const move = (cardId: number, targetColumnId: unknown, position: unknown = 0) =>
  external('PATCH', `/cards/${cardId}/move`, { targetColumnId, position })
const list = async (query = ''): Promise<{ items: any[]; nextCursor: number | null }> => {
  const reply = await external('GET', `/cards?${query}`)
  expect(reply.status, reply.text).toBe(200)
  return reply.body.data
}
const titles = async (query = '') => (await list(query)).items.map(({ title }) => title).join('')
const codeOf = ({ status, body }: Reply) => [status, body?.error?.code]
/** Inserts a card of a kind that no route creates yet. */
const insert = (kind: string) =>
  board.server.app.db.transaction(
    async tx =>
      (
        await tx.run(
          'INSERT INTO cards (project_id, board_id, column_id, kind, title, prompt, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
          [projectId, boardId, backlog, kind, kind, '', tx.now, tx.now],
        )
      ).lastId,
  )

describe('boards', () => {
  it('are returned with their columns in order, and with integer ids only', async () => {
    const second = await board.client.boards.create({ projectId, name: 'Second', templateId: '3' })
    await board.client.columns.update({ projectId, columnId: active, wipLimit: 3 })
    await board.client.columns.reorder({ projectId, ids: [done, backlog, active] })
    await board.client.boards.reorder({ projectId, ids: [second.id, boardId] })
    expect((await external('GET', '/boards')).body).toEqual({
      data: [
        { id: Number(second.id), name: 'Second', columns: [] },
        {
          id: boardId,
          name: 'Board',
          columns: [
            { id: done, name: 'Done', columnType: 'done', position: 0, wipLimit: null, cardCount: 0 },
            { id: backlog, name: 'Backlog', columnType: 'backlog', position: 1, wipLimit: null, cardCount: 0 },
            { id: active, name: 'In Progress', columnType: 'active', position: 2, wipLimit: 3, cardCount: 0 },
          ],
        },
      ],
    })
  })
})

describe('creating a card', () => {
  it("creates it deferred and unread in the default board's first column", async () => {
    const reply = await external('POST', '/cards', { title: 'First', prompt: 'Do it' })
    const { id, createdAt, updatedAt, ...card } = reply.body.data
    expect([reply.status, typeof id, updatedAt, reply.headers.get('etag')]).toEqual([201, 'number', createdAt, '"1"'])
    expect(card).toEqual({
      projectId,
      boardId,
      columnId: backlog,
      groupId: null,
      title: 'First',
      prompt: 'Do it',
      labels: [],
      assignees: [],
      priority: 'normal',
      dueAt: null,
      estimate: null,
      status: 'idle',
      statusReason: null,
      position: 0,
      unread: true,
      gitBranch: null,
      useWorktree: true,
      deferred: true,
      blocked: false,
      ready: true,
      blockedBy: [],
      startAt: null,
      lastAgentAction: null,
      mergedAt: null,
      mergedCommit: null,
      mergedInto: null,
      startedAt: null,
      endedAt: null,
      locks: [],
      sessions: [],
      version: 1,
    })
    expect(await create('Second', { columnId: active, useWorktree: false })).toMatchObject({
      columnId: active,
      position: 0,
      useWorktree: false,
      deferred: true,
      lastAgentAction: null,
    })
    expect(await create('Third')).toMatchObject({ position: 1 })
  })

  it('initializes the pipeline', async () => {
    const { id } = await create('a')
    expect(
      (await board.client.cards.getPipeline({ projectId, cardId: id })).steps.map(({ columnId }) => columnId),
    ).toEqual([String(active)])
  })

  it('accepts a column of the default board only', async () => {
    const other = await board.client.boards.create({ projectId, name: 'Other' })
    const columnId = Number((await board.client.columns.list({ projectId, boardId: other.id }))[0]!.id)
    expect(codeOf(await external('POST', '/cards', { title: 'x', columnId }))).toEqual([
      409,
      'COLUMN_NOT_ON_DEFAULT_BOARD',
    ])
    expect(codeOf(await external('POST', '/cards', { title: 'x', columnId: 999_999 }))).toEqual([
      404,
      'COLUMN_NOT_FOUND',
    ])
    await board.client.boards.reorder({ projectId, ids: [other.id, boardId] })
    expect((await external('POST', '/cards', { title: 'x', columnId })).status).toBe(201)
    expect(codeOf(await external('POST', '/cards', { title: 'x', columnId: backlog }))).toEqual([
      409,
      'COLUMN_NOT_ON_DEFAULT_BOARD',
    ])
  })

  it('accepts integer ids and known fields only', async () => {
    for (const body of [
      { title: 'x', columnId: String(backlog) },
      { title: 'x', columnId: 0 },
      { title: 'x', columnId: 1.5 },
      { title: 'x', columnId: null },
      { title: 'x', useWorktree: 'false' },
      { title: 'x', labels: [] },
      { title: 'x', deferred: false },
      {},
      { title: 5 },
    ])
      expect(codeOf(await external('POST', '/cards', body)), JSON.stringify(body)).toEqual([400, 'VALIDATION_FAILED'])
  })
})

describe('listing cards', () => {
  it('is sorted by id, without the fields of a single card', async () => {
    const first = await create('a')
    const { locks, sessions, ...item } = await create('b', { blockedBy: [first.id] })
    await move(first.id, backlog, 1)
    const { items } = await list()
    expect(items.map(({ id, position }) => [id, position])).toEqual([
      [first.id, 1],
      [item.id, 0],
    ])
    expect(items[1]).toEqual({ ...item, position: 0 })
    expect([items[0]!.blockedBy, items[1]!.blockedBy]).toEqual([[], [first.id]])
    expect([locks, sessions]).toEqual([[], []])
  })

  it('omits archived, deleted and non-kanban cards, also from counts', async () => {
    const [, archived, deleted, inArchive] = [
      await create('a'),
      await create('b'),
      await create('c'),
      await create('d'),
    ]
    const { id: archiveColumn } = await board.client.columns.create({
      projectId,
      boardId,
      name: 'Archive',
      columnType: 'archive',
    })
    expect((await external('POST', `/cards/${archived.id}/archive`)).body).toEqual({ data: { ok: true } })
    await board.client.cards.delete({ projectId, cardId: deleted.id })
    await move(inArchive.id, Number(archiveColumn))
    const others = [await insert('terminal'), await insert('assistant')]
    expect(await titles()).toBe('a')
    expect((await external('GET', '/stats')).body.data).toEqual({
      total: 1,
      byStatus: { idle: 1 },
      tokens: { total: 0, sessions: 0 },
      byColumn: [
        { columnId: backlog, name: 'Backlog', columnType: 'backlog', count: 1 },
        { columnId: active, name: 'In Progress', columnType: 'active', count: 0 },
        { columnId: done, name: 'Done', columnType: 'done', count: 0 },
        { columnId: Number(archiveColumn), name: 'Archive', columnType: 'archive', count: 0 },
      ],
    })
    expect((await external('GET', `/cards/${archived.id}`)).body.data).toMatchObject({ position: null })
    for (const id of [...others, deleted.id])
      for (const [method, path, body] of [
        ['GET', ''],
        ['PATCH', '/move', { targetColumnId: active, position: 0 }],
        ['POST', '/archive'],
        ['POST', '/agent/cancel'],
      ] as const)
        expect(codeOf(await external(method, `/cards/${id}${path}`, body)), path).toEqual([404, 'CARD_NOT_FOUND'])
  })

  it('filters by column, exact status and a part of the labels', async () => {
    for (const [title, columnId, labels] of [
      ['a', backlog, ['bug', 'ui']],
      ['b', active, ['debug']],
      ['c', backlog, ['BUG']],
      ['d', backlog, []],
    ] as Array<[string, number, string[]]>) {
      const { id } = await create(title, { columnId })
      if (labels.length > 0) await board.client.cards.update({ projectId, cardId: id, labels })
    }
    expect([
      await titles(`columnId=${backlog}`),
      await titles(`columnId=${done}`),
      await titles('columnId=999999'),
    ]).toEqual(['acd', '', ''])
    expect([await titles('status=idle'), await titles('status=running')]).toEqual(['abcd', ''])
    expect([
      await titles('label=bug'),
      await titles('label=u'),
      await titles('label=%5B%22bug'),
      await titles('label=%25'),
      await titles(`label=bug&columnId=${backlog}`),
    ]).toEqual(['ab', 'ab', 'a', '', 'a'])
    for (const query of [
      'status=asleep',
      'status=',
      'status=Idle',
      'columnId=x',
      'columnId=0',
      'label=',
      'offset=0',
      'archived=true',
      'limit=0',
      'limit=-1',
      'limit=1.5',
      'limit=x',
      'cursor=-1',
      'cursor=x',
      'limit=1&limit=2',
    ])
      expect(codeOf(await external('GET', `/cards?${query}`)), query).toEqual([400, 'VALIDATION_FAILED'])
  })

  it('is returned in pages of 50, at most 100, with the last id as cursor', async () => {
    const made: number[] = []
    for (let i = 0; i < 105; i += 35)
      made.push(...(await Promise.all(Array.from({ length: 35 }, () => create('x')))).map(({ id }) => id as number))
    const ids = made.sort((a, b) => a - b)
    const page = async (query: string) => {
      const { items, nextCursor } = await list(query)
      return [items.map(({ id }) => id), nextCursor]
    }
    expect(await page('')).toEqual([ids.slice(0, 50), ids[49]])
    expect(await page('limit=999')).toEqual([ids.slice(0, 100), ids[99]])
    expect(await page(`limit=100&cursor=${ids[99]}`)).toEqual([ids.slice(100), null])
    expect(await page(`limit=5&cursor=${ids[99]}`)).toEqual([ids.slice(100), null])
    expect(await page(`limit=4&cursor=${ids[99]}`)).toEqual([ids.slice(100, 104), ids[103]])
    expect(await page(`cursor=${ids[104]}`)).toEqual([[], null])
    expect(await page('cursor=0&limit=1')).toEqual([[ids[0]], ids[0]])
    await external('POST', `/cards/${ids[104]}/archive`)
    expect(await page(`limit=4&cursor=${ids[99]}`)).toEqual([ids.slice(100, 104), null])
    expect(await page(`limit=1&columnId=${active}`)).toEqual([[], null])
  })
})

describe('moving, archiving and cancelling', () => {
  it('moves a card to the position, starts no agent and returns the card', async () => {
    const [a, b] = [await create('a', { columnId: active }), await create('b')]
    const reply = await move(b.id, active)
    expect([reply.status, reply.headers.get('etag')]).toEqual([200, '"2"'])
    expect(reply.body.data).toMatchObject({
      id: b.id,
      columnId: active,
      position: 0,
      deferred: true,
      lastAgentAction: null,
      version: 2,
    })
    expect((await external('GET', `/cards/${a.id}`)).body.data.position).toBe(1)
    expect((await move(b.id, active, 77)).body.data.position).toBe(1)
    const started = await board.client.cards.create({ projectId, title: 'c' })
    expect((await move(Number(started.id), active)).body.data).toMatchObject({ deferred: true, lastAgentAction: null })
  })

  it('requires a column of the project and a position that is a whole number from 0', async () => {
    const { id } = await create('a')
    const other = await board.client.projects.create({ name: 'Other', path: board.dataDir })
    const foreign = Number((await board.client.columns.list({ projectId: other.id }))[0]!.id)
    expect(codeOf(await move(id, foreign))).toEqual([409, 'COLUMN_IN_OTHER_PROJECT'])
    expect(codeOf(await move(id, 999_999))).toEqual([404, 'COLUMN_NOT_FOUND'])
    for (const [column, position] of [
      [active, -1],
      [active, 0.5],
      [active, '0'],
      [active, null],
      [String(active), 0],
      [null, 0],
      [-1, 0],
    ])
      expect(codeOf(await move(id, column, position))).toEqual([400, 'VALIDATION_FAILED'])
    expect(codeOf(await external('PATCH', `/cards/${id}/move`, { targetColumnId: active }))).toEqual([
      400,
      'VALIDATION_FAILED',
    ])
    expect((await external('GET', `/cards/${id}`)).body.data).toMatchObject({ columnId: backlog, version: 1 })
  })

  it('archives once, also for repeated requests', async () => {
    const { id } = await create('a')
    for (let i = 0; i < 2; i++)
      expect((await external('POST', `/cards/${id}/archive`)).body).toEqual({ data: { ok: true } })
    expect((await board.client.cards.get({ projectId, cardId: id })).version).toBe(2)
  })

  it('does not cancel an agent that is not running', async () => {
    const { id } = await create('a')
    expect(codeOf(await external('POST', `/cards/${id}/agent/cancel`))).toEqual([409, 'AGENT_NOT_RUNNING'])
  })
})

describe('the permissions of a key', () => {
  it('are limited to its project, and ids are positive integers', async () => {
    const { id } = await create('a')
    const other = await board.client.projects.create({ name: 'Other', path: board.dataDir })
    const scoped = (
      await board.client.keys.create({ name: 'k', scope: 'project', projectId: other.id, permissions: six })
    ).key
    expect(
      codeOf(await board.request('GET', `/api/external/projects/${projectId}/cards/${id}`, { token: scoped })),
    ).toEqual([404, 'PROJECT_NOT_FOUND'])
    expect(
      codeOf(await board.request('GET', `/api/external/projects/${other.id}/cards/${id}`, { token: scoped })),
    ).toEqual([404, 'CARD_NOT_FOUND'])
    for (const wrong of ['0', '-1', 'x', '1.5', '01', '99999999999999999999']) {
      expect(codeOf(await external('GET', `/cards/${wrong}`)), wrong).toEqual([400, 'INVALID_ID'])
      expect(
        codeOf(await board.request('GET', `/api/external/projects/${wrong}/cards`, { token: key })),
        wrong,
      ).toEqual([400, 'INVALID_ID'])
    }
  })

  it('include 100 requests a minute, counted per key, with Retry-After', async () => {
    const limited = await startBoard()
    try {
      const { id } = await limited.client.projects.create({ name: 'Limited', path: limited.dataDir })
      const [first, second] = await Promise.all(
        ['a', 'b'].map(
          async name => (await limited.client.keys.create({ name, scope: 'server', permissions: six })).key,
        ),
      )
      const ask = (token = first, path = 'stats') =>
        limited.request('GET', `/api/external/projects/${id}/${path}`, { token })
      const replies = await Promise.all(
        Array.from({ length: 100 }, (_, i) => ask(first, ['stats', 'cards/999999', 'cards/x', 'cards?limit=0'][i % 4])),
      )
      expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200, 404, 400]))
      const refused = await ask()
      expect(codeOf(refused)).toEqual([429, 'RATE_LIMITED'])
      const secs = Number(refused.headers.get('retry-after'))
      expect([Number.isInteger(secs), secs >= 1, secs <= 60]).toEqual([true, true, true])
      expect(refused.headers.get('ratelimit-policy')).toBe('"minute";q=100;w=60')
      expect(refused.headers.get('ratelimit')).toMatch(/^"minute";r=0;t=\d+$/)
      const other = await ask(second)
      expect([other.status, other.headers.get('ratelimit')]).toEqual([
        200,
        expect.stringMatching(/^"minute";r=99;t=(59|60)$/),
      ])
      expect((await limited.request('GET', `/api/projects/${id}/cards`, { token: first })).status).toBe(200)
    } finally {
      await limited.close()
    }
  })
})
