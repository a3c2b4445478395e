import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { end } from '../../src/domain/agents/sessions.ts'
import { fileBody, startSlotlessBoard } from '../support/contract/seed.ts'
import { type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let projectId: string
let me: { kind: string; id: string; name: string }
let columns: Record<'backlog' | 'active' | 'done', string>
beforeAll(async () => {
  board = await startSlotlessBoard()
  const { user } = await board.client.auth.setup({ email: 'ada@example.org', password: 'a long password' })
  me = { kind: 'user', id: user.id, name: 'ada' }
})
afterAll(() => board.close())
beforeEach(async () => {
  projectId = (await board.client.projects.create({ name: 'p', path: board.folder('p') })).id
  const all = await board.client.columns.list({ projectId })
  columns = Object.fromEntries(all.map(({ columnType, id }) => [columnType, id])) as typeof columns
})

type NewCard = Partial<Parameters<TestBoard['client']['cards']['create']>[0]>
const add = async (title: string, card: NewCard = {}) => {
  const { id } = await board.client.cards.create({ projectId, title, deferred: true, ...card })
  return { projectId, cardId: id }
}
const list = async (ref: { projectId: string; cardId: string }) =>
  (await board.client.activity.list({ ...ref, limit: 500 })).items
/** The card's activity since its creation, oldest first. */
const since = async (ref: { projectId: string; cardId: string }) =>
  (await list(ref))
    .toReversed()
    .slice(1)
    .map(({ action, changes }) => [action, ...changes.map(({ field, from, to }) => [field, from, to])])

describe('the activity of a card', () => {
  test('starts with its creation, by whom and when', async () => {
    const ref = await add('a')
    expect(await list(ref)).toEqual([
      {
        id: expect.any(String),
        at: (await board.client.cards.get(ref)).createdAt,
        actor: me,
        action: 'card.created',
        changes: [{ field: 'columnName', from: null, to: 'Backlog' }],
      },
    ])
  })

  test('lists the old and new value of each changed field, but only the field name for long texts', async () => {
    const [other, ref] = [await add('other'), await add('a', { prompt: 'old secret', labels: ['x'] })]
    const { cards } = board.client
    await cards.update({ ...ref, title: 'b', prompt: 'new secret', labels: ['x', 'y'], groupId: 'g' })
    await cards.update({ ...ref, blockedBy: [other.cardId], parentId: other.cardId, useWorktree: false })
    await cards.update({ ...ref, title: 'b', labels: ['x', 'y'] })
    await cards.update({ ...ref, priority: 'high', startAt: '2099-01-01T00:00:00.000Z' })
    await cards.setAutoMode({ ...ref, enabled: true })
    expect(await since(ref)).toEqual([
      [
        'card.updated',
        ['title', 'a', 'b'],
        ['prompt', null, null],
        ['labels', ['x'], ['x', 'y']],
        ['groupId', null, 'g'],
      ],
      [
        'card.updated',
        ['useWorktree', true, false],
        ['parentId', null, other.cardId],
        ['blockedBy', [], [other.cardId]],
      ],
      ['card.updated', ['priority', 'normal', 'high'], ['startAt', null, '2099-01-01T00:00:00.000Z']],
      ['card.updated', ['autoMode', false, true]],
    ])
    expect(JSON.stringify(await list(ref))).not.toContain('secret')
  })

  test('has its moves to other columns, its end, the archive and the trash', async () => {
    const ref = await add('a')
    await add('b')
    const { cards } = board.client
    await cards.move({ ...ref, columnId: columns.backlog, position: 1 })
    await cards.complete(ref)
    await cards.archive(ref)
    await cards.unarchive(ref)
    await cards.delete(ref)
    await cards.restore(ref)
    expect(await since(ref)).toEqual([
      ['card.moved', ['columnName', 'Backlog', 'Done']],
      ['card.completed'],
      ['card.archived'],
      ['card.unarchived'],
      ['card.deleted'],
      ['card.restored'],
    ])
  })

  test('has runs, with who began and who ended them', async () => {
    const ref = await add('a')
    const { app } = board.server
    const ended = async (status: 'completed' | 'interrupted') => {
      const { sessionId } = await board.client.agents.get(ref)
      await app.db.transaction(tx => end(tx, app.supervisor, Number(sessionId), { status }))
      return sessionId
    }
    await board.client.agents.relaunch(ref)
    const first = await ended('completed')
    await board.client.agents.relaunch(ref)
    await ended('interrupted')
    await board.client.agents.relaunch(ref)
    await board.client.agents.cancel(ref)
    const runs = (await list(ref)).toReversed().slice(1)
    const start = { actor: me, action: 'run.started', changes: [{ field: 'agent', from: null, to: 'fixture' }] }
    const over = (actor: object, to: string) => ({
      actor,
      action: 'run.ended',
      changes: [{ field: 'status', from: 'queued', to }],
    })
    expect(runs.map(({ actor, action, changes }) => ({ actor, action, changes }))).toEqual([
      start,
      over({ kind: 'agent', id: first, name: 'fixture' }, 'completed'),
      start,
      over({ kind: 'system', id: null, name: 'Board' }, 'interrupted'),
      start,
      over(me, 'cancelled'),
    ])
  })

  test('includes comments without their texts, attachments and reviews', async () => {
    const ref = await add('a')
    const { comments, attachments, reviews } = board.client
    const { id: commentId } = await comments.create({ ...ref, body: 'secret one' })
    await comments.update({ ...ref, commentId, body: 'secret two' })
    await comments.delete({ ...ref, commentId })
    await board.request('POST', `/api/projects/${projectId}/cards/${ref.cardId}/attachments`, fileBody('a.txt'))
    await attachments.delete({ attachmentId: (await attachments.list(ref))[0]!.id })
    await reviews.create({ ...ref, verdict: 'approve' })
    expect(await since(ref)).toEqual([
      ['comment.created'],
      ['comment.updated'],
      ['comment.deleted'],
      ['attachment.created', ['filename', null, 'a.txt']],
      ['attachment.deleted', ['filename', 'a.txt', null]],
      ['review.submitted', ['verdict', null, 'approve']],
    ])
    expect(JSON.stringify(await list(ref))).not.toContain('secret')
  })

  test('distinguishes keys, agents and repeated requests from users', async () => {
    const made = await board.client.keys.create({
      name: 'deploy',
      scope: 'project',
      projectId,
      permissions: ['cards.create', 'cards.update'],
    })
    const reply = () =>
      board.request('POST', '/api/cards', {
        token: made.key,
        headers: { 'idempotency-key': 'once' },
        body: { projectId, title: 'by a key' },
      })
    const { body } = await reply()
    await reply()
    const byKey = await list({ projectId, cardId: body.data.id })
    expect(byKey.map(({ actor }) => actor)).toEqual([{ kind: 'key', id: made.id, name: 'deploy' }])

    const active = await add('active', { columnId: columns.active })
    const { token } = await board.client.agents.token(active)
    const called = await board.request('POST', '/api/mcp', {
      token,
      headers: { accept: 'application/json, text/event-stream' },
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'create_card', arguments: { title: 'found' } },
      },
    })
    const found = JSON.parse(called.body.result.content[0].text) as { id: string }
    expect((await list({ projectId, cardId: found.id }))[0]).toMatchObject({
      actor: { kind: 'agent', name: 'Agent' },
      action: 'card.created',
    })
  })

  test('includes each card of a column that was cleared', async () => {
    const ref = await add('a')
    await board.client.columns.clear({ projectId, columnId: columns.backlog })
    await board.client.cards.restore(ref)
    expect((await list(ref)).map(({ action, actor }) => [action, actor.name])).toEqual([
      ['card.restored', 'ada'],
      ['card.deleted', 'ada'],
      ['card.created', 'ada'],
    ])
  })

  test('is not written if the change fails', async () => {
    const ref = await add('a')
    await board.request('PATCH', `/api/projects/${projectId}/cards/${ref.cardId}`, {
      headers: { 'if-match': '"99"' },
      body: { title: 'b' },
    })
    expect(await since(ref)).toEqual([])
  })

  test('is listed newest first, in pages', async () => {
    const ref = await add('0')
    for (const title of ['1', '2', '3', '4']) await board.client.cards.update({ ...ref, title })
    const titles: unknown[] = []
    let cursor: number | undefined
    for (let pages = 0; pages < 10; pages++) {
      const { items, nextCursor } = await board.client.activity.list({ ...ref, limit: 2, cursor })
      titles.push(items.map(({ changes }) => changes[0]!.to))
      if (nextCursor === null) break
      cursor = Number(nextCursor)
    }
    expect(titles).toEqual([['4', '3'], ['2', '1'], ['Backlog']])
  })

  test('is limited, and deleted with its card', async () => {
    const ref = await add('a')
    const { db } = board.server.app
    const many = `INSERT INTO card_activity (card_id, at, actor_kind, actor_name, action, changes)
      SELECT ?, ?, 'system', 'Board', 'card.updated', '[]' FROM (WITH RECURSIVE n(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < 30000) SELECT at FROM n)`
    await db.transaction(tx => tx.run(many, [Number(ref.cardId), tx.now]))
    const count = async () =>
      (await db.get<{ n: number }>('SELECT count(*) AS n FROM card_activity WHERE card_id = ?', [Number(ref.cardId)]))!
        .n
    expect(await count()).toBeGreaterThanOrEqual(10_000)
    expect(await count()).toBeLessThan(25_000)
    await db.transaction(tx => tx.run('DELETE FROM cards WHERE id = ?', [Number(ref.cardId)]))
    expect(await count()).toBe(0)
  })
})
