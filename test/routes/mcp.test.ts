import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newCard, type TestCard } from '../support/agents/agentRows.ts'
import { mcpClients } from '../support/servers/mcpClients.ts'
import { startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'
import { follow } from '../support/receivers/liveSocket.ts'

interface Place extends TestCard {
  token: string
  columns: Record<'backlog' | 'active' | 'done', string>
}

let board: TestBoard
let card: Place
const clients = mcpClients()

beforeAll(async () => {
  board = await startBoard()
  card = await activeCard()
})
afterAll(async () => {
  await clients.close()
  await board.close()
})

async function activeCard(): Promise<Place> {
  const { projectId } = await newCard(board, 'Other work')
  const columns = Object.fromEntries(
    (await board.client.columns.list({ projectId })).map(({ columnType, id }) => [columnType, id]),
  ) as Place['columns']
  const { id: cardId } = await board.client.cards.create({
    projectId,
    title: 'My card',
    prompt: 'Write a poem',
    labels: ['art'],
    columnId: columns.active,
    deferred: true,
  })
  return { projectId, cardId, columns, token: (await board.client.agents.token({ projectId, cardId })).token }
}

const connect = (token: string) => clients.connect(board.url, token)
type Answer = { isError?: boolean; content: Array<{ type: string; text?: string; data?: string; mimeType?: string }> }
const call = async (client: Client, name: string, input: Record<string, unknown> = {}) =>
  (await client.callTool({ name, arguments: input })) as Answer
async function use(client: Client, name: string, input?: Record<string, unknown>) {
  const { isError, content } = await call(client, name, input)
  expect(isError, content[0]!.text).toBeFalsy()
  return JSON.parse(content[0]!.text!)
}
async function failure(client: Client, name: string, input?: Record<string, unknown>): Promise<string> {
  const { isError, content } = await call(client, name, input)
  expect(isError).toBe(true)
  return JSON.parse(content[0]!.text!).error.code
}
const send = (
  body: unknown,
  options: { token?: string | null; headers?: Record<string, string> } = {},
): Promise<Reply> => board.request('POST', '/api/mcp', { token: card.token, body, ...options })

describe('an agent', () => {
  it("finds the board's tools, whose input requires neither its project nor its card", async () => {
    const client = await connect(card.token)
    expect(client.getServerVersion()).toMatchObject({ name: 'board' })
    expect(client.getInstructions()).toContain('get_card')
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name).sort()).toEqual([
      'add_comment',
      'add_monitor',
      'answer_comment',
      'answer_request_comment',
      'ask_person',
      'attach_file',
      'create_card',
      'delete_monitor',
      'get_card',
      'get_pull_request',
      'list_budgets',
      'list_cards',
      'list_columns',
      'list_comments',
      'list_monitors',
      'list_schedules',
      'read_attachment',
      'report_progress',
    ])
    for (const { name, description, inputSchema, annotations } of tools) {
      expect(description, name).toMatch(/^[A-Z].*\.$/s)
      expect(inputSchema, name).toMatchObject({ type: 'object', additionalProperties: false })
      expect(inputSchema.required ?? [], name).not.toContain('cardId')
      expect(Object.keys(inputSchema.properties ?? {}), name).not.toContain('projectId')
      expect(annotations!.readOnlyHint, name).toBe(/^(get|list|read)/.test(name))
    }
    const hints = (wanted: string) => {
      const { readOnlyHint, destructiveHint, openWorldHint } = tools.find(({ name }) => name === wanted)!.annotations!
      return { readOnlyHint, destructiveHint, openWorldHint }
    }
    expect(hints('add_monitor')).toEqual({ readOnlyHint: false, destructiveHint: true, openWorldHint: true })
    expect(hints('delete_monitor')).toEqual({ readOnlyHint: false, destructiveHint: true, openWorldHint: false })
    expect(hints('create_card')).toEqual({ readOnlyHint: false, destructiveHint: false, openWorldHint: false })
    expect(tools.find(({ name }) => name === 'list_cards')!.inputSchema.properties!.columnId).toEqual({
      type: 'string',
      pattern: '^[1-9]\\d{0,15}$',
    })
  })

  it('reads its card, and others of its project', async () => {
    const client = await connect(card.token)
    const mine = await use(client, 'get_card')
    expect(mine).toMatchObject({
      id: card.cardId,
      title: 'My card',
      prompt: 'Write a poem',
      labels: ['art'],
      columnType: 'active',
      attachments: [],
    })
    const { cards, nextCursor } = await use(client, 'list_cards')
    expect([cards.map(({ title }: { title: string }) => title), nextCursor]).toEqual([['Other work', 'My card'], null])
    expect((await use(client, 'list_cards', { columnId: card.columns.active })).cards).toHaveLength(1)
    expect((await use(client, 'list_cards', { limit: 1 })).nextCursor).toBe(cards[0].id)
    expect((await use(client, 'get_card', { cardId: cards[0].id })).title).toBe('Other work')
    expect((await use(client, 'get_card', { cardId: Number(cards[0].id) })).title).toBe('Other work')
    expect((await use(client, 'list_columns')).map(({ columnType }: { columnType: string }) => columnType)).toEqual([
      'backlog',
      'active',
      'done',
    ])
  })

  it('reports its progress, which its card shows and an event contains', async () => {
    const live = await follow(board.url, board.token, card.projectId)
    await use(await connect(card.token), 'report_progress', { detail: 'Looking for rhymes' })
    const { lastAgentAction } = await board.client.cards.get({ projectId: card.projectId, cardId: card.cardId })
    expect(lastAgentAction).toEqual({ type: 'progress', at: expect.stringMatching(/Z$/), detail: 'Looking for rhymes' })
    expect((await live.message('card.updated')).data.lastAgentAction).toEqual(lastAgentAction)
    live.close()
  })

  it('plans cards, and lists them in their intended order, in pages', async () => {
    const { token } = await activeCard()
    const client = await connect(token)
    const plan = { priority: 'high', dueAt: '2030-01-31T12:00:00.000Z', estimate: 2 }
    const high = await use(client, 'create_card', { title: 'High', ...plan })
    expect(high).toMatchObject({ priority: 'high', dueAt: plan.dueAt, assignees: [] })
    await use(client, 'create_card', { title: 'Low', priority: 'low' })
    await use(client, 'create_card', { title: 'Urgent', priority: 'urgent' })
    const titles = async (filter: Record<string, unknown>) => {
      const found = await use(client, 'list_cards', filter)
      return [found.cards.map(({ title }: { title: string }) => title), found.nextCursor]
    }
    expect(await titles({ ready: true, limit: 2 })).toEqual([['Urgent', 'High'], '2'])
    expect(await titles({ ready: true, limit: 2, cursor: 2 })).toEqual([['Other work', 'My card'], '4'])
    expect(await titles({ priority: 'low' })).toEqual([['Low'], null])
    expect(await titles({ sort: 'dueAt', limit: 1 })).toEqual([['High'], '1'])
    expect(await titles({ dueBefore: '2031-01-01T00:00:00Z', assigneeId: 'none' })).toEqual([['High'], null])
  })

  it('creates cards that wait for a user, on the default board', async () => {
    const client = await connect(card.token)
    const created = await use(client, 'create_card', {
      title: 'Fix the meter',
      prompt: 'Line 3',
      labels: ['bug'],
      columnId: card.columns.active,
    })
    expect(created).toMatchObject({ title: 'Fix the meter', columnType: 'active', deferred: true, labels: ['bug'] })
    expect(await board.client.cards.get({ projectId: card.projectId, cardId: created.id })).toMatchObject({
      prompt: 'Line 3',
      unread: true,
      status: 'idle',
      useWorktree: true,
    })
    const foreign = await activeCard()
    expect(await failure(client, 'create_card', { title: 'x', columnId: foreign.columns.backlog })).toBe(
      'COLUMN_NOT_FOUND',
    )
    const { id: boardId } = await board.client.boards.create({ projectId: card.projectId, name: 'Second' })
    const [column] = await board.client.columns.list({ projectId: card.projectId, boardId })
    expect(await failure(client, 'create_card', { title: 'x', columnId: column!.id })).toBe(
      'COLUMN_NOT_ON_DEFAULT_BOARD',
    )
  })

  it('attaches files to its card and reads attachments', async () => {
    const client = await connect(card.token)
    const attached = await use(client, 'attach_file', { filename: '../poem.txt', text: 'Rosen sind rot \u{1f339}' })
    expect(attached).toMatchObject({
      filename: 'poem.txt',
      contentType: expect.stringContaining('text/plain'),
      cardId: card.cardId,
    })
    expect(await use(client, 'read_attachment', { attachmentId: attached.id })).toMatchObject({
      filename: 'poem.txt',
      text: 'Rosen sind rot \u{1f339}',
    })
    const bytes = Buffer.from([0, 255, 1, 254])
    const binary = await use(client, 'attach_file', { filename: 'x.bin', base64: bytes.toString('base64') })
    expect((await use(client, 'read_attachment', { attachmentId: binary.id })).base64).toBe(bytes.toString('base64'))
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    )
    const image = await use(client, 'attach_file', { filename: 'x.png', base64: png.toString('base64') })
    expect((await call(client, 'read_attachment', { attachmentId: image.id })).content).toEqual([
      { type: 'image', data: png.toString('base64'), mimeType: 'image/png' },
    ])
    expect((await use(client, 'get_card')).attachments.map(({ filename }: { filename: string }) => filename)).toEqual([
      'poem.txt',
      'x.bin',
      'x.png',
    ])
    expect(await failure(client, 'attach_file', { filename: 'x', text: 'x'.repeat(524_289) })).toBe('BODY_TOO_LARGE')
    for (const input of [{}, { text: 'a', base64: 'YQ==' }, { base64: '!' }])
      expect(await failure(client, 'attach_file', { filename: 'x', ...input })).toBe('VALIDATION_FAILED')
  })

  it('comments on its card, and reads the comments of any card of the project', async () => {
    const [client, other] = [await connect(card.token), await connect((await activeCard()).token)]
    const said = await use(client, 'add_comment', { body: 'Half of the tests are slow.' })
    expect(said).toMatchObject({
      cardId: card.cardId,
      author: { kind: 'agent', userId: null },
      body: 'Half of the tests are slow.',
    })
    expect((await use(client, 'list_comments')).items).toEqual([said])
    expect((await use(other, 'list_comments')).items).toEqual([])
    expect(await failure(other, 'list_comments', { cardId: card.cardId })).toBe('CARD_NOT_FOUND')
    const { projectId } = card
    const { id: cardId } = await board.client.cards.create({ projectId, title: 'beside' })
    await board.client.comments.create({ projectId, cardId, body: 'Said here' })
    expect((await use(client, 'list_comments', { cardId, limit: 1 })).items).toMatchObject([{ body: 'Said here' }])
    expect(await failure(client, 'add_comment', { body: ' ' })).toBe('VALIDATION_FAILED')
  })

  it('adds, lists and deletes monitors of its card, and of no other', async () => {
    const [client, other] = [await connect(card.token), await connect((await activeCard()).token)]
    const added = await use(client, 'add_monitor', {
      command: 'true',
      intervalSecs: 60,
      description: 'Is well',
      allowUnsandboxed: true,
    })
    expect(added).toMatchObject({ cardId: card.cardId, command: 'true', intervalSecs: 60, description: 'Is well' })
    expect((await use(client, 'list_monitors')).map(({ id }: { id: string }) => id)).toEqual([added.id])
    expect(await use(other, 'list_monitors')).toEqual([])
    expect(await failure(other, 'delete_monitor', { monitorId: added.id })).toBe('MONITOR_NOT_FOUND')
    expect(
      await failure(client, 'add_monitor', { command: 'true', intervalSecs: 60, cwd: '/', allowUnsandboxed: true }),
    ).toBe('MONITOR_CWD_OUTSIDE_CARD')
    for (const input of [{ allowUnsandboxed: false }, { intervalSecs: 9 }, { command: '' }])
      expect(
        await failure(client, 'add_monitor', { command: 'true', intervalSecs: 60, allowUnsandboxed: true, ...input }),
      ).toBe('VALIDATION_FAILED')
    await use(client, 'delete_monitor', { monitorId: added.id })
    expect(await use(client, 'list_monitors')).toEqual([])
  })

  it('cannot reach other projects, and cannot write to other cards', async () => {
    const client = await connect(card.token)
    const foreign = await activeCard()
    const { id: attachmentId } = await use(await connect(foreign.token), 'attach_file', {
      filename: 'secret.txt',
      text: 'secret',
    })
    expect(await failure(client, 'get_card', { cardId: foreign.cardId })).toBe('CARD_NOT_FOUND')
    expect(await failure(client, 'read_attachment', { attachmentId })).toBe('ATTACHMENT_NOT_FOUND')
    for (const [name, input] of [
      ['get_card', { projectId: foreign.projectId }],
      ['report_progress', { cardId: foreign.cardId, detail: 'x' }],
      ['attach_file', { cardId: foreign.cardId, filename: 'x', text: 'x' }],
      ['create_card', { projectId: foreign.projectId, title: 'x' }],
    ] as const)
      expect([name, await failure(client, name, input)]).toEqual([name, 'VALIDATION_FAILED'])
  })

  it("gets the invalid fields of its input in the tool's response, without their values", async () => {
    const client = await connect(card.token)
    const { isError, content } = await call(client, 'create_card', { title: '', labels: ['secret-value', 7] })
    expect(isError).toBe(true)
    expect(JSON.parse(content[0]!.text!).error).toMatchObject({
      code: 'VALIDATION_FAILED',
      details: expect.arrayContaining([{ path: 'title', message: 'must not be empty' }]),
    })
    expect(content[0]!.text).not.toContain('secret-value')
    await expect(call(client, 'no_such_tool')).rejects.toThrow(/no tool/)
  })

  it('loses access as soon as its card leaves the active column', async () => {
    const own = await activeCard()
    const client = await connect(own.token)
    await board.client.cards.move({ projectId: own.projectId, cardId: own.cardId, columnId: own.columns.done })
    await expect(call(client, 'get_card')).rejects.toThrow(/401|UNAUTHENTICATED|Unauthorized/)
  })
})

describe('the endpoint', () => {
  it('accepts every token, and rejects requests without one', async () => {
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
    const { key } = await board.client.keys.create({
      name: 'k',
      scope: 'server',
      permissions: ['cards.read', 'agents.run'],
    })
    expect((await send(ping)).body).toEqual({ jsonrpc: '2.0', id: 1, result: {} })
    expect((await send(ping, { token: board.token })).status).toBe(200)
    const ofKey = await send(ping, { token: key })
    expect([ofKey.status, ofKey.headers.get('ratelimit')]).toEqual([200, expect.stringContaining('"minute";r=')])
    expect((await send(ping, { token: null })).status).toBe(401)
  })

  it('returns JSON without a session, 202 for notifications, and 405 for a stream', async () => {
    const initialize = {
      jsonrpc: '2.0',
      id: 'a',
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    }
    const reply = await send(initialize, { headers: { accept: '*/*' } })
    expect([reply.status, reply.headers.get('content-type'), reply.headers.get('mcp-session-id')]).toEqual([
      200,
      'application/json',
      null,
    ])
    expect(reply.body.result).toMatchObject({
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'board' },
    })
    expect((await send({ jsonrpc: '2.0', method: 'notifications/initialized' })).status).toBe(202)
    for (const method of ['GET', 'DELETE'])
      expect((await board.request(method, '/api/mcp', { token: card.token })).status).toBe(405)
  })

  it('accepts null for fields that a client omits', async () => {
    const params = { name: 'get_card', arguments: null }
    const { body } = await send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    expect(JSON.parse(body.result.content[0].text).title).toBe('My card')
    expect((await send({ jsonrpc: '2.0', id: 2, method: 'tools/list', params: null })).body.result.tools).not.toEqual(
      [],
    )
  })

  it('answers a batch in its order, and only one call of it', async () => {
    const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' })
    const call = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'get_card' } })
    const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' }
    expect((await send([ping(1)])).body).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }])
    const { body } = await send([ping(1), initialized, call(2), { jsonrpc: '2.0', id: 3, method: 'none' }, call(4)])
    expect(body).toMatchObject([
      { id: 1, result: {} },
      { id: 2, result: { content: [{ type: 'text' }] } },
      { id: 3, error: { code: -32601 } },
      { id: 4, error: { code: -32600 } },
    ])
    expect((await send([initialized])).status).toBe(202)
  })

  it('rejects messages that break the protocol, and responds immediately to all of them', async () => {
    for (const body of [
      {},
      [],
      'x',
      { jsonrpc: '1.0', id: 1, method: 'ping' },
      [[{ jsonrpc: '2.0', id: 1, method: 'ping' }]],
      [{ jsonrpc: '2.0', id: 1, method: 'ping' }, 1],
      Array.from({ length: 21 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' })),
    ])
      expect((await send(body)).status).toBe(400)
    for (const body of [
      { jsonrpc: '2.0' },
      { jsonrpc: '2.0', id: 1 },
      { jsonrpc: '2.0', id: 1, result: {} },
      { jsonrpc: '2.0', id: 1, method: 'tools/call' },
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_card', arguments: [] } },
      { jsonrpc: '2.0', id: 1, method: '__proto__' },
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: '__proto__' } },
    ]) {
      const { status, text } = await send(body)
      expect([status < 500, text.includes('node_modules')], text).toEqual([true, false])
    }
    expect(
      (await send({ jsonrpc: '2.0', id: 1, method: 'ping' }, { headers: { 'mcp-protocol-version': '1999-01-01' } }))
        .status,
    ).toBe(400)
  })
})
