import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let projectId: string
let backlog: string
let active: string
let done: string
let archive: string

beforeAll(async () => {
  board = await startBoard()
})
afterAll(() => board.close())
beforeEach(async () => {
  projectId = (await board.client.projects.create({ name: 'Cards', path: board.dataDir })).id
  const columns = await board.client.columns.list({ projectId })
  ;[backlog, active, done] = columns.map(({ id }) => id) as [string, string, string]
  archive = (
    await board.client.columns.create({
      projectId,
      boardId: columns[0]!.boardId,
      name: 'Archive',
      columnType: 'archive',
    })
  ).id
})

type Fields = Partial<Parameters<TestBoard['client']['cards']['create']>[0]>
const create = (title: string, fields: Fields = {}) => board.client.cards.create({ projectId, title, ...fields })
const createAll = async (...titles: string[]) => {
  for (const title of titles) ids[title] = (await create(title)).id
}
const ids: Record<string, string> = {}
const card = (title: string) => ({ projectId, cardId: ids[title]! })
const move = (title: string, columnId: string, position?: number) =>
  board.client.cards.move({ ...card(title), columnId, position })
const firstColumn = async (boardId: string) => (await board.client.columns.list({ projectId, boardId }))[0]!.id
const fails = (promise: Promise<unknown>, status: number, code: string) =>
  expect(promise).rejects.toMatchObject({ status, code })
const request = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
  board.request(method, `/api/projects/${projectId}/cards${path}`, { body, headers })

/** The titles of a column in order; positions must be dense and the column's count correct. */
async function order(columnId: string): Promise<string> {
  const items = await board.client.cards.list({ projectId, columnId, offset: 0 })
  expect(items.map(({ position }) => position)).toEqual(items.map((_, at) => at))
  expect((await board.client.columns.list({ projectId })).find(({ id }) => id === columnId)!.cardCount).toBe(
    items.length,
  )
  return items.map(({ title }) => title).join('')
}

describe('creating', () => {
  it("adds a card at the end of the default board's first column, with the default settings", async () => {
    await create('first')
    const { id, createdAt, updatedAt, boardId, ...rest } = await create('second')
    expect(rest).toEqual({
      projectId,
      columnId: backlog,
      columnName: 'Backlog',
      columnType: 'backlog',
      groupId: null,
      title: 'second',
      prompt: '',
      labels: [],
      assignees: [],
      priority: 'normal',
      dueAt: null,
      estimate: null,
      watcherIds: ['0'],
      watching: true,
      kind: 'kanban',
      status: 'idle',
      statusReason: null,
      missingGate: null,
      position: 1,
      unread: false,
      blocked: false,
      ready: true,
      parentId: null,
      children: { total: 0, done: 0 },
      blockedBy: [],
      blocks: [],
      discoveredFromId: null,
      startAt: null,
      deferred: false,
      autoMode: false,
      hasActiveAgent: false,
      reviewState: null,
      reviewRound: 0,
      mergedAt: null,
      mergedCommit: null,
      mergedInto: null,
      pullRequest: null,
      issue: null,
      source: null,
      pullable: true,
      creatorId: '0',
      creatorName: 'Local operator',
      base: null,
      baseCardId: null,
      attachmentCount: 0,
      commentCount: 0,
      agent: null,
      profile: null,
      monitorQuestions: 0,
      model: null,
      mode: null,
      effort: null,
      command: null,
      useWorktree: true,
      gitBranch: null,
      worktreePath: null,
      lastAgentAction: null,
      archivedAt: null,
      startedAt: null,
      endedAt: null,
      locks: [],
      sessions: [],
      version: 1,
    })
    expect([typeof id, updatedAt, typeof boardId]).toEqual(['string', createdAt, 'string'])
  })

  it('returns the same card as a read of the card, for each set of fields and each column', async () => {
    const parentId = (await create('parent')).id
    const start = { startAt: new Date(Date.now() + 3_600_000).toISOString() }
    const plan: Fields = { priority: 'high', dueAt: start.startAt, estimate: 2.5, assigneeNames: ['Somebody'] }
    const madeWith: Fields[] = [
      {},
      { prompt: 'Fix it.', labels: ['a', 'b'], groupId: 'g', useWorktree: false, parentId, autoMode: true },
      plan,
      { columnId: active, deferred: true },
      { columnId: active, ...start },
      { columnId: done, blockedBy: [parentId] },
      { columnId: archive, ...plan },
      { kind: 'terminal', command: 'true', columnId: backlog },
    ]
    for (const fields of madeWith) {
      const made = await create('made', fields)
      expect(made).toEqual(await board.client.cards.get({ projectId, cardId: made.id }))
    }
  })

  it('accepts ids as text or numbers, and a column of any board of the project', async () => {
    const other = await board.client.boards.create({ projectId, name: 'Other' })
    const columnId = await firstColumn(other.id)
    const made = await board.request('POST', '/api/cards', {
      body: { projectId: Number(projectId), title: 't', columnId: Number(columnId) },
    })
    expect([made.status, made.body.data.boardId, made.body.data.columnId, made.headers.get('etag')]).toEqual([
      201,
      other.id,
      columnId,
      '"1"',
    ])
  })

  it('reports in an active column that no agent can be started, unless the card is deferred', async () => {
    expect((await create('a', { columnId: active })).lastAgentAction).toEqual({
      type: 'not_started',
      at: expect.any(String),
      detail: expect.stringMatching(
        /^No agent is installed on the server\. To install one, for example Claude Code: npm install/,
      ),
    })
    expect((await create('b', { columnId: active, deferred: true })).lastAgentAction).toBeNull()
  })

  it('archives a card that is created in an archive column', async () => {
    expect((await create('a', { columnId: archive })).archivedAt).not.toBeNull()
    expect((await board.client.cards.list({ projectId })).length).toBe(0)
  })

  it('limits titles, prompts and labels', async () => {
    for (const fields of [
      { title: '' },
      { title: 'x'.repeat(501) },
      { prompt: 'ä'.repeat(32_769) },
      { labels: Array.from({ length: 51 }, String) },
      { labels: [''] },
      { labels: ['x'.repeat(101)] },
    ])
      await fails(create('x', fields), 400, 'VALIDATION_FAILED')
    expect(
      (
        await create('x'.repeat(500), {
          prompt: 'ä'.repeat(32_768),
          labels: Array.from({ length: 50 }, () => 'y'.repeat(100)),
        })
      ).labels,
    ).toHaveLength(50)
  })
})

describe('moving', () => {
  beforeEach(() => createAll('a', 'b', 'c', 'd'))

  it('moves a card to a zero-based position of a column', async () => {
    await move('d', backlog, 0)
    expect(await order(backlog)).toBe('dabc')
    await move('d', backlog, 2)
    expect(await order(backlog)).toBe('abdc')
    await move('a', active, 0)
    expect((await move('c', active, 0)).position).toBe(0)
    expect([await order(backlog), await order(active)]).toEqual(['bd', 'ca'])
  })

  it('moves to the end with a position past it, or without one', async () => {
    expect((await move('a', backlog, 99)).position).toBe(3)
    expect((await move('b', backlog)).position).toBe(3)
    expect((await move('c', active, Number.MAX_SAFE_INTEGER)).position).toBe(0)
    expect([await order(backlog), await order(active)]).toEqual(['dab', 'c'])
  })

  it('rejects a position that is negative or not a whole number', async () => {
    for (const position of [-1, 0.5, '0', null, true, 2 ** 53]) {
      const reply = await request('PATCH', `/${ids.a}/move`, { columnId: active, position })
      expect([reply.status, reply.body.error.code, reply.body.error.details[0].path]).toEqual([
        400,
        'VALIDATION_FAILED',
        'position',
      ])
    }
    expect(await order(backlog)).toBe('abcd')
  })

  it("to the card's current position changes nothing", async () => {
    expect((await move('b', backlog, 1)).version).toBe(1)
    expect((await move('b', backlog, 2)).version).toBe(2)
  })

  it('into an archive column archives, and out of it restores', async () => {
    const archived = await move('a', archive, 0)
    expect([archived.archivedAt === null, archived.columnId]).toEqual([false, archive])
    expect((await board.client.cards.list({ projectId })).map(({ title }) => title)).toEqual(['b', 'c', 'd'])
    expect((await move('a', backlog, 1)).archivedAt).toBeNull()
    expect(await order(backlog)).toBe('bacd')
  })

  it('accepts another board, but not another project or a missing column', async () => {
    const other = await board.client.projects.create({ name: 'Other', path: board.dataDir })
    const foreign = (await board.client.columns.list({ projectId: other.id }))[0]!.id
    await fails(move('a', foreign), 409, 'COLUMN_IN_OTHER_PROJECT')
    await fails(move('a', '999999'), 404, 'COLUMN_NOT_FOUND')
    const { id: boardId } = await board.client.boards.create({ projectId, name: 'Second' })
    const columnId = await firstColumn(boardId)
    expect(await move('a', columnId)).toMatchObject({ boardId, columnId, position: 0 })
  })
})

describe('archiving, deleting and completing', () => {
  beforeEach(() => createAll('a', 'b', 'c'))

  it('archive removes a card from lists and positions, and unarchive adds it at the end', async () => {
    const archived = await board.client.cards.archive(card('a'))
    expect([archived.position, archived.columnId, archived.archivedAt]).toEqual([null, backlog, expect.any(String)])
    expect((await board.client.cards.archive(card('a'))).version).toBe(archived.version)
    expect(await order(backlog)).toBe('bc')
    expect((await board.client.cards.list({ projectId, archived: true })).map(({ title }) => title)).toEqual(['a'])
    expect(await board.client.cards.unarchive(card('a'))).toMatchObject({ position: 2, archivedAt: null })
    expect(await order(backlog)).toBe('bca')
  })

  it("unarchive from an archive column moves to the board's first other column", async () => {
    await move('a', archive)
    expect(await board.client.cards.unarchive(card('a'))).toMatchObject({
      columnId: backlog,
      position: 2,
      archivedAt: null,
    })
  })

  it('delete hides a card everywhere, and restore adds it at the end', async () => {
    await board.client.cards.delete(card('a'))
    expect(await order(backlog)).toBe('bc')
    for (const call of [
      board.client.cards.get,
      board.client.cards.view,
      board.client.cards.delete,
      board.client.cards.archive,
      board.client.cards.getPipeline,
      board.client.attachments.list,
    ])
      await fails(call(card('a')), 404, 'CARD_NOT_FOUND')
    for (const call of [board.client.cards.getFlat, board.client.cards.status])
      await fails(call({ id: ids.a! }), 404, 'CARD_NOT_FOUND')
    await fails(move('a', active), 404, 'CARD_NOT_FOUND')
    expect(await board.client.cards.list({ projectId, archived: true })).toEqual([])
    expect(await board.client.cards.restore(card('a'))).toMatchObject({ position: 2 })
    expect(await order(backlog)).toBe('bca')
    await fails(board.client.cards.restore(card('a')), 404, 'CARD_NOT_FOUND')
  })

  it('an archived card is still archived when it is restored', async () => {
    await board.client.cards.archive(card('a'))
    await board.client.cards.delete(card('a'))
    expect(await board.client.cards.restore(card('a'))).toMatchObject({
      position: null,
      archivedAt: expect.any(String),
    })
    expect(await order(backlog)).toBe('bc')
  })

  it('delete keeps work in a worktree unless it is forced, and then saves a patch', async () => {
    const git = (folder: string, ...args: string[]) =>
      execFileSync('git', ['-C', folder, '-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args], {
        stdio: 'ignore',
      })
    const path = board.folder('dirty')
    const worktree = join(path, '..', 'dirty-worktree')
    git(path, 'init')
    git(path, 'commit', '--allow-empty', '-m', 'Begin')
    git(path, 'worktree', 'add', '-b', 'work', worktree)
    await board.client.projects.update({ id: projectId, path })
    expect(await board.client.cards.attachWorktree({ ...card('a'), path: worktree })).toMatchObject({
      worktreePath: worktree,
      gitBranch: 'work',
    })
    writeFileSync(join(worktree, 'unsaved.txt'), 'precious\n')
    await fails(board.client.cards.delete(card('a')), 409, 'WORKTREE_DIRTY')
    await board.client.cards.delete({ ...card('a'), force: true })
    const patches = join(board.dataDir, 'patches')
    expect(
      readdirSync(patches)
        .map(name => readFileSync(join(patches, name), 'utf8'))
        .join(''),
    ).toContain('precious')
  })

  it("complete moves a card to the board's first done column, and without one returns 404", async () => {
    const reply = await request('POST', `/${ids.b}/complete`)
    expect([reply.status, reply.text]).toEqual([204, ''])
    expect([await order(backlog), await order(done)]).toEqual(['ac', 'b'])
    await board.client.columns.clear({ projectId, columnId: done })
    await board.client.columns.delete({ projectId, columnId: done })
    await fails(board.client.cards.complete(card('a')), 404, 'COLUMN_NOT_FOUND')
  })

  it('activate starts a deferred card, and an idle card in an active column', async () => {
    const { id: cardId } = await create('d', { columnId: active, deferred: true })
    await board.client.cards.activate({ projectId, cardId })
    expect(await board.client.cards.get({ projectId, cardId })).toMatchObject({
      deferred: false,
      lastAgentAction: { type: 'not_started' },
    })
    await board.client.cards.activate({ projectId, cardId })
    await board.client.cards.move({ projectId, cardId, columnId: backlog })
    await fails(board.client.cards.activate({ projectId, cardId }), 409, 'CARD_NOT_DEFERRED')
  })
})

describe('changing', () => {
  beforeEach(() => createAll('a'))

  it('changes only the given fields, and an empty update does not increment the version', async () => {
    expect(await board.client.cards.update({ ...card('a'), title: 'A', labels: ['x'], groupId: 'g' })).toMatchObject({
      title: 'A',
      labels: ['x'],
      groupId: 'g',
      prompt: '',
      version: 2,
    })
    expect(
      await board.client.cards.update({ ...card('a'), prompt: 'p', useWorktree: false, groupId: null }),
    ).toMatchObject({ title: 'A', labels: ['x'], groupId: null, prompt: 'p', useWorktree: false, version: 3 })
    expect((await board.client.cards.update(card('a'))).version).toBe(3)
  })

  it('accepts only a boolean for auto mode', async () => {
    expect((await board.client.cards.setAutoMode({ ...card('a'), enabled: true })).autoMode).toBe(true)
    for (const enabled of ['true', 1, null])
      expect((await request('PATCH', `/${ids.a}/auto-mode`, { enabled })).status).toBe(400)
  })

  it("has a pipeline: initially the board's active columns, with their prompts", async () => {
    await board.client.columns.update({ projectId, columnId: active, prompt: 'Work' })
    expect(await board.client.cards.getPipeline(card('a'))).toEqual({
      steps: [{ columnId: active, columnName: 'In Progress', prompt: 'Work', approval: 'auto' }],
    })
    const { boardId } = await board.client.cards.get(card('a'))
    const { id: review } = await board.client.columns.create({
      projectId,
      boardId,
      name: 'Review',
      columnType: 'active',
    })
    const steps = [{ columnId: review, prompt: 'Look', approval: 'manual' as const }, { columnId: active }]
    expect(await board.client.cards.setPipeline({ ...card('a'), steps })).toEqual({
      steps: [
        { columnId: review, columnName: 'Review', prompt: 'Look', approval: 'manual' },
        { columnId: active, columnName: 'In Progress', prompt: 'Work', approval: 'auto' },
      ],
    })
    await board.client.columns.delete({ projectId, columnId: review })
    expect((await board.client.cards.getPipeline(card('a'))).steps.map(({ columnId }) => columnId)).toEqual([active])
    for (const wrong of [[backlog], [active, active], [review], ['999999']])
      await fails(
        board.client.cards.setPipeline({ ...card('a'), steps: wrong.map(columnId => ({ columnId })) }),
        400,
        'INVALID_PIPELINE',
      )
    expect(
      (await request('PUT', `/${ids.a}/pipeline`, { steps: [{ columnId: active }, { columnId: backlog }] })).body.error
        .details,
    ).toEqual([{ path: 'steps.1.columnId', message: expect.stringContaining('active column') }])
    expect((await board.client.cards.setPipeline({ ...card('a'), steps: [] })).steps).toEqual([])
  })

  it('marks the card as read without a new version', async () => {
    const { key } = await board.client.keys.create({
      name: 'k',
      scope: 'project',
      projectId,
      permissions: ['cards.create'],
    })
    const made = await board.request('POST', `/api/external/projects/${projectId}/cards`, {
      token: key,
      body: { title: 'new' },
    })
    const cardId = String(made.body.data.id)
    expect((await board.client.cards.get({ projectId, cardId })).unread).toBe(true)
    await board.client.cards.view({ projectId, cardId })
    expect(await board.client.cards.get({ projectId, cardId })).toMatchObject({ unread: false, version: 1 })
  })
})
