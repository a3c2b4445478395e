import { createHash } from 'node:crypto'
import { readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { insertSession, updateSession } from '../../src/store/agents/sessions.ts'
import { insertMessage, insertPiece } from '../../src/store/agents/transcripts.ts'
import { onLibsqlServer, startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'
import { follow } from '../support/receivers/liveSocket.ts'
import * as files from '../transfers/files.ts'
import {
  exported,
  faultsOf,
  fileOf,
  imported,
  importFile,
  minimalDocument,
  normal,
  rowCounts,
  type Doc,
} from '../transfers/files.ts'
import { largeBoard } from '../transfers/largeBoard.ts'

let board: TestBoard
let path: string
beforeAll(async () => {
  board = await startBoard({ maxAttachmentBytes: 2_000_000, maxImportBytes: 8_000_000 })
  path = board.folder('work')
})
afterAll(() => board.close())

const newProject = async (name = 'Web') => (await board.client.projects.create({ name, path })).id
const attach = async (projectId: string, cardId: string, filename: string, bytes: Uint8Array) =>
  (await board.request('POST', `/api/projects/${projectId}/cards/${cardId}/attachments`, fileOf(bytes, filename))).body
    .data.id as string
const stored = () => files.stored(board)
const underWay = () => files.underWay(board)
const document = (change: Doc = {}): Doc => minimalDocument(path, change)

describe('an export of a project', () => {
  it('is a JSON file with its name and length, and the content of the project', async () => {
    const projectId = await newProject('Wéb "1"')
    const card = await board.client.cards.create({ projectId, title: 'A card', prompt: 'Do it', labels: ['bug'] })
    const bytes = Buffer.from('hello attachment')
    await attach(projectId, card.id, 'notes.txt', bytes)
    const reply = await board.request('GET', `/api/projects/${projectId}/export`)
    expect(
      Object.fromEntries(
        ['content-type', 'content-length', 'content-disposition', 'x-content-type-options'].map(name => [
          name,
          reply.headers.get(name),
        ]),
      ),
    ).toEqual({
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(reply.text)),
      'content-disposition':
        'attachment; filename="W_b _1_.board.json"; filename*=UTF-8\'\'W%C3%A9b%20%221%22.board.json',
      'x-content-type-options': 'nosniff',
    })
    expect(reply.body).toMatchObject({
      format: 'board',
      version: 1,
      organization: null,
      projects: [{ name: 'Wéb "1"', path, tokens: { total: 0, sessions: 0 } }],
      boards: [{ name: 'Board', position: 0 }],
      columns: [{ name: 'Backlog' }, { name: 'In Progress' }, { name: 'Done' }],
      cards: [{ title: 'A card', prompt: 'Do it', labels: ['bug'], position: 0, version: card.version }],
      attachments: [
        {
          filename: 'notes.txt',
          contentType: 'text/plain',
          size: 16,
          sha256: createHash('sha256').update(bytes).digest('hex'),
        },
      ],
      contents: [{ content: bytes.toString('base64') }],
    })
    await expect.poll(underWay).toEqual([])
  })

  it('answers HEAD with the length only, and leaves no file', async () => {
    const projectId = await newProject()
    const reply = await board.request('HEAD', `/api/projects/${projectId}/export`)
    expect([reply.status, reply.text, Number(reply.headers.get('content-length')) > 100]).toEqual([200, '', true])
    await expect.poll(underWay).toEqual([])
  })

  it('omits deleted cards and their objects', async () => {
    const projectId = await newProject()
    const [kept, gone] = [
      await board.client.cards.create({ projectId, title: 'Kept' }),
      await board.client.cards.create({ projectId, title: 'Gone' }),
    ]
    for (const { id } of [kept, gone]) await attach(projectId, id, 'a.txt', Buffer.from(id))
    await board.client.cards.delete({ projectId, cardId: gone.id })
    const { cards, attachments, contents } = await exported(board, projectId)
    expect([cards.map(({ title }: Doc) => title), attachments.length, contents.length]).toEqual([['Kept'], 1, 1])
  })

  it('leaves no file if its client disconnects', async () => {
    const projectId = await newProject()
    const { id: cardId } = await board.client.cards.create({ projectId, title: 'A' })
    for (let at = 0; at < 10; at++) await attach(projectId, cardId, 'large.bin', Buffer.alloc(1_900_000, at))
    const reply = await fetch(`${board.url}/api/projects/${projectId}/export`, {
      headers: { authorization: `Bearer ${board.token}` },
    })
    const reader = reply.body!.getReader()
    await reader.read()
    expect(underWay().length).toBe(1)
    await reader.cancel()
    await expect.poll(underWay).toEqual([])
  })

  it('ends in the middle if a file becomes shorter during the export, and the server continues', async () => {
    const projectId = await newProject()
    const { id: cardId } = await board.client.cards.create({ projectId, title: 'A' })
    const before = stored()
    for (let at = 0; at < 10; at++) await attach(projectId, cardId, 'large.bin', Buffer.alloc(1_900_000, at))
    const reply = await fetch(`${board.url}/api/projects/${projectId}/export`, {
      headers: { authorization: `Bearer ${board.token}` },
    })
    for (const name of stored().filter(name => !before.includes(name)))
      truncateSync(join(board.dataDir, 'attachments', name), 10)
    await expect(reply.text()).rejects.toThrow('terminated')
    await expect.poll(underWay).toEqual([])
    expect((await board.client.server.health()).status).toBe('ok')
  })

  it('is one state of the board, even while other clients write', async () => {
    const projectId = await newProject()
    const [from, to] = await board.client.columns.list({ projectId })
    const cards = await Promise.all(
      Array.from({ length: 400 }, (_, at) =>
        board.client.cards.create({ projectId, title: `Card ${at}`, deferred: true }),
      ),
    )
    let isOver = false
    const moving = (async () => {
      for (let at = 0; !isOver; at++)
        await board.client.cards
          .move({
            projectId,
            cardId: cards[at % 400]!.id,
            columnId: at % 3 === 0 ? from!.id : to!.id,
            position: at % 7,
          })
          .catch(() => {
            /* no agent is available */
          })
    })()
    for (let round = 0; round < 10; round++) {
      const file = await exported(board, projectId)
      const places = new Map<number, number[]>()
      for (const { columnId, position } of file.cards) places.set(columnId, [...(places.get(columnId) ?? []), position])
      for (const taken of places.values()) expect(taken.sort((a, b) => a - b)).toEqual(taken.map((_, place) => place))
      expect(file.cards.length).toBe(400)
    }
    isOver = true
    await moving
  })

  it('reports an attachment whose file is lost, and is imported without it', async () => {
    const projectId = await newProject()
    const { id: cardId } = await board.client.cards.create({ projectId, title: 'A' })
    await attach(projectId, cardId, 'kept.txt', Buffer.from('kept'))
    const before = stored()
    await attach(projectId, cardId, 'lost.txt', Buffer.from('lost'))
    rmSync(
      join(
        board.dataDir,
        'attachments',
        stored().find(name => !before.includes(name))!,
      ),
    )
    const file = await exported(board, projectId)
    expect([file.attachments.length, file.contents.length]).toEqual([2, 1])
    const report = await imported(board, { format: 'board' }, file)
    expect(report).toMatchObject({
      attachments: 1,
      warnings: [
        `The attachment "lost.txt" has no content in the file${onLibsqlServer ? ': it was on the machine one, which could not be reached or no longer had it' : ''}. It was omitted.`,
      ],
    })
    expect((await exported(board, report.projectIds[0])).attachments.map(({ filename }: Doc) => filename)).toEqual([
      'kept.txt',
    ])
  })
})

describe('an export of an organization', () => {
  it('holds its projects, its users by address and its templates, and is imported as a new organization', async () => {
    const { id: organizationId } = await board.client.organizations.create({ name: 'Club' })
    const template = await board.client.templates.create({
      name: 'Ours',
      columns: [{ name: 'Z', columnType: 'backlog', prompt: 'p' }],
    })
    for (const name of ['One', 'Two']) {
      const { id: projectId } = await board.client.projects.create({ name, path, organizationId })
      await board.client.cards.create({ projectId, title: `Card of ${name}` })
    }
    const first = (await board.request('POST', '/api/export', { body: { organizationId } })).body
    expect(first).toMatchObject({
      organization: { name: 'Club' },
      projects: [{ name: 'One' }, { name: 'Two' }],
      templates: [{ name: 'Ours' }],
      cards: [{ title: 'Card of One' }, { title: 'Card of Two' }],
    })
    expect((await board.request('POST', '/api/export', { body: {} })).body.projects).toEqual(first.projects)
    await board.client.templates.delete({ id: template.id })
    const report = await imported(board, { format: 'board' }, first)
    expect(report.organizationId).not.toBe(organizationId)
    expect(await board.client.templates.list()).toContainEqual(
      expect.objectContaining({ name: 'Ours', columns: template.columns }),
    )
    const second = (await board.request('POST', '/api/export', { body: { organizationId: report.organizationId } }))
      .body
    expect(normal(second)).toEqual(normal(first))
    await imported(board, { format: 'board' }, first)
    expect((await board.client.templates.list()).filter(({ name }) => name === 'Ours').length).toBe(1)
    expect((await board.request('POST', '/api/export', { body: {} })).body.error.message).toBe(
      'organizationId is required: you administer several organizations',
    )
  })
})

describe('an import', () => {
  it('interrupts running sessions and starts none', async () => {
    const at = '2026-01-01T00:00:00.000Z'
    const cards = ['queued', 'running', 'waiting', 'completed'].map((status, index) => ({
      id: index + 1,
      columnId: 2,
      position: index,
      title: status,
      status,
      autoMode: true,
    }))
    const sessions = cards.map(({ id, status }) => ({
      id,
      cardId: id,
      purpose: 'work',
      agent: 'claude',
      status,
      createdAt: at,
      startedAt: at,
      endedAt: status === 'completed' ? at : null,
    }))
    const {
      projectIds: [projectId],
    } = await imported(
      board,
      { format: 'board' },
      document({ cards, sessions, exportedAt: '2026-02-01T00:00:00.000Z' }),
    )
    const file = await exported(board, projectId)
    expect(file.cards.map(({ status }: Doc) => status)).toEqual([
      'interrupted',
      'interrupted',
      'interrupted',
      'completed',
    ])
    expect(file.sessions.map(({ status, statusReason, endedAt }: Doc) => [status, statusReason, endedAt])).toEqual([
      ...Array.from({ length: 3 }, () => ['interrupted', 'server_restart', '2026-02-01T00:00:00.000Z']),
      ['completed', null, at],
    ])
    expect(await board.client.agents.active({ projectId })).toEqual([])
  })

  it('adds the boards of a file to a project, and notifies all its subscribers', async () => {
    const projectId = await newProject()
    const live = await follow(board.url, board.token, projectId)
    const report = await imported(
      board,
      { format: 'board', projectId },
      document({
        boards: [
          { id: 7, projectId: 1, name: 'Second', position: 1 },
          { id: 1, projectId: 1, name: 'First', position: 0 },
        ],
      }),
    )
    expect(report).toMatchObject({ projectIds: [projectId], projects: 0, boards: 2, columns: 3, cards: 1 })
    expect((await board.client.boards.list({ projectId })).map(({ name, position }) => [name, position])).toEqual([
      ['Board', 0],
      ['First', 1],
      ['Second', 2],
    ])
    const told = [await live.message('card.created'), ...live.messages.filter(({ seq }: Doc) => seq !== undefined)]
    expect([...new Set(told.map(({ type }) => type))].sort()).toEqual([
      'board.created',
      'card.created',
      'column.created',
    ])
    expect(told[0].data).toMatchObject({ title: 'First', position: 0, projectId })
    live.close()
  })

  it('keeps the assistant of an existing project', async () => {
    const cards = [
      { id: 1, columnId: 1, kind: 'assistant', position: null, title: 'Assistant' },
      { id: 2, columnId: 1, position: 0, title: 'Work' },
    ]
    const sessions = [
      {
        id: 1,
        cardId: 1,
        purpose: 'assistant',
        agent: 'claude',
        status: 'completed',
        createdAt: '2026-01-01T00:00:00.000Z',
        endedAt: '2026-01-01T00:00:00.000Z',
      },
    ]
    const messages = [{ sessionId: 1, role: 'user', at: '2026-01-01T00:00:00.000Z', content: 'Hello' }]
    const projectId = await newProject()
    expect(
      await imported(board, { format: 'board', projectId }, document({ cards, sessions, messages })),
    ).toMatchObject({
      cards: 1,
      warnings: [
        "The conversation with a project's assistant was omitted, because the project already has an assistant.",
      ],
    })
    const own = await imported(board, { format: 'board' }, document({ cards, sessions, messages }))
    expect((await exported(board, own.projectIds[0])).messages).toMatchObject([{ content: 'Hello' }])
  })

  it('executes a repeated request once with an Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'import-1' }
    const [first, second] = [
      await imported(board, { format: 'board' }, document(), { headers }),
      await imported(board, { format: 'board' }, document(), { headers }),
    ]
    expect(second).toEqual(first)
    expect((await importFile(board, { format: 'board' }, document({ cards: [] }), { headers })).body.error.code).toBe(
      'IDEMPOTENCY_KEY_REUSED',
    )
    const both = await Promise.all(
      [1, 2].map(() =>
        importFile(board, { format: 'board' }, document(), { headers: { 'idempotency-key': 'import-2' } }),
      ),
    )
    expect(both[0]!.body).toEqual(both[1]!.body)
    expect((await board.server.app.db.all('SELECT id FROM projects WHERE hidden = 1')).length).toBe(0)
  })

  it('adds at most 5,000 records, 300 on a libSQL server, to an existing project', async () => {
    const maxCards = onLibsqlServer ? 300 : 5000
    const projectId = await newProject()
    const many = (count: number) =>
      document({
        cards: Array.from({ length: count }, (_, position) => ({
          id: position + 1,
          columnId: 1,
          position,
          title: `Card ${position}`,
        })),
      })
    for (const dryRun of ['true', 'false'])
      expect(await faultsOf(board, { format: 'board', projectId, dryRun }, many(maxCards - 4))).toEqual([
        expect.stringMatching(
          `^ the file has ${maxCards + 1} records, and at most ${maxCards} fit into an existing project: omit projectId \\(-P on the command line\\)`,
        ),
      ])
    expect(await imported(board, { format: 'board', projectId }, many(maxCards - 5))).toMatchObject({
      cards: maxCards - 5,
    })
    const { cards } = await exported(board, projectId)
    expect(cards.map(({ title, position }: Doc) => [title, position])).toEqual(
      Array.from({ length: maxCards - 5 }, (_, at) => [`Card ${at}`, at]),
    )
  })

  it('leaves no records if its client disconnects', async () => {
    const large = largeBoard(path, 4000)
    const [rows, attached] = [await rowCounts(board), stored()]
    const { headers, raw } = fileOf(large)
    const leaving = new AbortController()
    const reply = fetch(`${board.url}/api/import?format=board`, {
      method: 'POST',
      body: raw as Uint8Array,
      headers: { ...headers, authorization: `Bearer ${board.token}` },
      signal: leaving.signal,
    }).catch((error: Error) => error.name)
    await eventually('rows that are hidden', async () => (await rowCounts(board)).cards! > rows.cards! + 500)
    expect((await board.client.projects.list()).some(({ name }) => name === 'Large')).toBe(false)
    leaving.abort()
    expect(await reply).toBe('AbortError')
    await expect
      .poll(async () => [await rowCounts(board), stored(), underWay()], { timeout: 10_000 * slowdown() })
      .toEqual([rows, attached, []])
  })

  it('creates a project of the caller in the given folder', async () => {
    const other = board.folder('other')
    const {
      projectIds: [id],
    } = await imported(board, { format: 'board', path: other }, document())
    expect(await board.client.projects.get({ id })).toMatchObject({ name: 'Imported', path: other, role: 'admin' })
    const reply = await importFile(
      board,
      { format: 'board' },
      document({ projects: [{ id: 1, name: 'Elsewhere', path: '/nonexistent/folder' }] }),
    )
    expect([reply.status, reply.body.error.message]).toEqual([
      400,
      'The project "Elsewhere" requires a folder. Specify path.',
    ])
  })

  it('accepts a file up to its limit, and none above it', async () => {
    const reply = await importFile(board, { format: 'board' }, Buffer.alloc(8_000_001, 0x20))
    expect([reply.status, reply.body.error.code]).toEqual([413, 'BODY_TOO_LARGE'])
    expect(await faultsOf(board, { format: 'board' }, Buffer.alloc(7_999_999, 0x20))).toEqual([
      ' the file must be JSON: an object or a list',
    ])
  })
})

it('a transcript is exported as displayed, and imported again', async () => {
  const projectId = await newProject()
  const { id: cardId } = await board.client.cards.create({ projectId, title: 'Talk' })
  await board.server.app.db.transaction(async tx => {
    const sessionId = await insertSession(tx, {
      projectId: Number(projectId),
      cardId: Number(cardId),
      purpose: 'work',
      agent: 'claude',
      status: 'completed',
      prompt: 'Go',
    })
    await updateSession(tx, sessionId, { endedAt: tx.now, summary: 'Went well' })
    const said = await insertMessage(tx, { sessionId, cardId: Number(cardId), role: 'agent' })
    for (const piece of ['One ', 'and ', 'two']) await insertPiece(tx, said, JSON.stringify(piece))
    const tool = await insertMessage(tx, { sessionId, cardId: Number(cardId), role: 'tool', callId: 'call-1' })
    await insertPiece(tx, tool, JSON.stringify({ name: 'Read', kind: 'read', status: 'pending', input: { path: 'a' } }))
    await insertPiece(tx, tool, JSON.stringify({ status: 'completed', output: 'contents', content: 'shown' }))
  })
  const file = await exported(board, projectId)
  expect(file.messages).toMatchObject([
    { role: 'agent', content: 'One and two', tool: null },
    {
      role: 'tool',
      callId: 'call-1',
      content: 'shown',
      tool: { name: 'Read', status: 'completed', input: { path: 'a' }, output: 'contents' },
    },
  ])
  const {
    projectIds: [copy],
  } = await imported(board, { format: 'board' }, file)
  expect(normal(await exported(board, copy))).toEqual(normal(file))
  const [card] = await board.client.cards.list({ projectId: copy })
  const bare = (messages: Doc[]) => messages.map(({ id: _, sessionId: __, ...message }) => message)
  expect(bare(await board.client.agents.messages({ projectId: copy, cardId: card!.id }))).toEqual(
    bare(await board.client.agents.messages({ projectId, cardId })),
  )
})

it('an unfinished import of a stopped server is deleted when the next one starts', async () => {
  const own = await startBoard()
  try {
    await own.server.app.db.transaction(async tx => {
      const { lastId } = await tx.run(
        `INSERT INTO projects (name, path, host, owner_id, created_at, updated_at, hidden) VALUES ('Half', '/', ?, 0, ?, ?, 1)`,
        [tx.host, tx.now, tx.now],
      )
      await tx.run('INSERT INTO boards (project_id, name, position, created_at) VALUES (?, ?, 0, ?)', [
        lastId,
        'Half',
        tx.now,
      ])
      expect(await own.client.projects.list()).toEqual([])
      expect((await own.request('GET', `/api/projects/${lastId}`)).status).toBe(404)
    })
    writeFileSync(join(own.dataDir, 'transfers', 'left'), 'x')
    await own.server.stop()
    const next = await startBoard({ dataDir: own.dataDir })
    await next.server.app.db.all('SELECT 1')
    expect(readdirSync(join(own.dataDir, 'transfers'))).toEqual([])
    await expect.poll(() => next.server.app.db.all('SELECT id FROM projects'), { timeout: 10_000 }).toEqual([])
    await next.close()
  } finally {
    await own.close()
  }
})
