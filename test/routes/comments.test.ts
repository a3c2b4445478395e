import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import type { Permission } from '../../src/contract/route.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'
import { follow, openSocket } from '../support/receivers/liveSocket.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let owner: { client: Client; id: string; token: string }
let projectId: string
let card: { projectId: string; cardId: string }
let people = 0

async function person(): Promise<typeof owner & { email: string }> {
  const email = `person${++people}@example.org`
  const { token, user } = await registerConfirmed(board, { email, password: 'a long password' })
  return { token, client: board.as(token), id: user.id, email }
}
async function inProject(role: 'viewer' | 'member' | 'admin') {
  const made = await person()
  await owner.client.members.add({ id: projectId, email: made.email, role })
  return made
}
const keyOf = async (client: Client, permissions: Permission[]) =>
  board.as((await client.keys.create({ name: 'k', scope: 'project', projectId, permissions })).key)
const code = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    (error: { code: string }) => error.code,
  )
const bodies = async (client = owner.client) => (await client.comments.list(card)).items.map(({ body }) => body)

beforeAll(async () => {
  board = await startBoard()
  await board.as().auth.setup({ email: 'root@example.org', password: 'root password' })
  owner = await person()
})
afterAll(() => board.close())
beforeEach(async () => {
  projectId = (await owner.client.projects.create({ name: 'p', path: board.folder('p') })).id
  card = { projectId, cardId: (await owner.client.cards.create({ projectId, title: 'card' })).id }
})

describe('comments on a card', () => {
  test('can be written by every member who can see it, and are counted on it', async () => {
    const viewer = await inProject('viewer')
    const made = await viewer.client.comments.create({ ...card, body: 'Looks **good**' })
    expect(made).toEqual({
      id: expect.any(String),
      cardId: card.cardId,
      author: { kind: 'user', userId: viewer.id, displayName: viewer.email.split('@')[0] },
      body: 'Looks **good**',
      createdAt: expect.any(String),
      editedAt: null,
    })
    expect((await owner.client.comments.list(card)).items).toEqual([made])
    const counts = async () => [
      (await owner.client.cards.get(card)).commentCount,
      (await owner.client.cards.list({ projectId }))[0]!.commentCount,
    ]
    expect(await counts()).toEqual([1, 1])
    await viewer.client.comments.delete({ ...card, commentId: made.id })
    expect(await counts()).toEqual([0, 0])
    const stranger = await person()
    expect(await code(stranger.client.comments.create({ ...card, body: 'x' }))).toBe('PROJECT_NOT_FOUND')
  })

  test('make the author watch the card, except for programs and users who stopped watching it', async () => {
    const [viewer, member] = [await inProject('viewer'), await inProject('member')]
    const live = await follow(board.url, owner.token, projectId)
    const watchers = async () => (await owner.client.cards.get(card)).watcherIds
    await viewer.client.comments.create({ ...card, body: 'first' })
    const told = await live.message('card.updated')
    expect([told.data.watcherIds, await watchers()]).toEqual([
      [owner.id, viewer.id],
      [owner.id, viewer.id],
    ])
    expect(await viewer.client.cards.setWatching({ ...card, watching: false })).toMatchObject({ watching: false })
    await viewer.client.comments.create({ ...card, body: 'second' })
    await (await keyOf(member.client, ['comments.write'])).comments.create({ ...card, body: 'by a program' })
    expect(await watchers()).toEqual([owner.id])
    expect(await viewer.client.cards.setWatching({ ...card, watching: true })).toMatchObject({ watching: true })
    await member.client.comments.create({ ...card, body: 'by a person' })
    expect((await watchers()).toSorted()).toEqual([owner.id, viewer.id, member.id].toSorted())
    const stranger = await person()
    expect(await code(stranger.client.cards.setWatching({ ...card, watching: true }))).toBe('PROJECT_NOT_FOUND')
    live.close()
  })

  test('are listed newest first, in pages', async () => {
    for (const body of ['1', '2', '3', '4', '5']) await owner.client.comments.create({ ...card, body })
    const first = await owner.client.comments.list({ ...card, limit: 2 })
    const second = await owner.client.comments.list({ ...card, limit: 2, cursor: Number(first.nextCursor) })
    const last = await owner.client.comments.list({ ...card, limit: 2, cursor: Number(second.nextCursor) })
    expect([first, second, last].map(({ items }) => items.map(({ body }) => body))).toEqual([
      ['5', '4'],
      ['3', '2'],
      ['1'],
    ])
    expect(last.nextCursor).toBeNull()
    expect((await owner.client.comments.list({ ...card, limit: 5 })).nextCursor).toBeNull()
  })

  test('are changed by their author only, and deleted by the author and project admins', async () => {
    const [author, member, manager] = [await inProject('viewer'), await inProject('member'), await inProject('admin')]
    const write = async () => ({ ...card, commentId: (await author.client.comments.create({ ...card, body: 'a' })).id })
    const comment = await write()
    for (const { client } of [member, manager, owner])
      expect(await code(client.comments.update({ ...comment, body: 'b' }))).toBe('FORBIDDEN')
    expect(await code(member.client.comments.delete(comment))).toBe('FORBIDDEN')
    expect((await author.client.comments.update({ ...comment, body: 'b' })).editedAt).toEqual(expect.any(String))
    expect(await bodies()).toEqual(['b'])
    for (const { client } of [author, manager, owner]) await client.comments.delete(await write())
    expect(await bodies()).toEqual(['b'])
    await author.client.comments.delete(comment)
    expect(await code(author.client.comments.update({ ...comment, body: 'c' }))).toBe('COMMENT_NOT_FOUND')
    expect(await code(author.client.comments.delete(comment))).toBe('COMMENT_NOT_FOUND')
  })

  test('are not changed by an equal text', async () => {
    const { id } = await owner.client.comments.create({ ...card, body: 'a' })
    expect((await owner.client.comments.update({ ...card, commentId: id, body: 'a' })).editedAt).toBeNull()
  })

  test('of another card are not found through this one', async () => {
    const other = await owner.client.cards.create({ projectId, title: 'other' })
    const { id } = await owner.client.comments.create({ ...card, body: 'a' })
    const elsewhere = { projectId, cardId: other.id, commentId: id }
    expect(await code(owner.client.comments.update({ ...elsewhere, body: 'b' }))).toBe('COMMENT_NOT_FOUND')
    expect(await code(owner.client.comments.delete(elsewhere))).toBe('COMMENT_NOT_FOUND')
    expect(await code(owner.client.comments.list({ projectId, cardId: '999999' }))).toBe('CARD_NOT_FOUND')
  })

  test('must be visible text, of at most 64 KiB', async () => {
    for (const body of ['', ' \n\u200b', 'a\0b', '\ud800', 'ü'.repeat(32_769)])
      expect(await code(owner.client.comments.create({ ...card, body }))).toBe('VALIDATION_FAILED')
    await owner.client.comments.create({ ...card, body: 'ü'.repeat(32_768) })
    expect((await owner.client.comments.list(card)).items).toHaveLength(1)
  })

  test('are at most 2,500 on a card', async () => {
    await board.server.app.db.transaction(async tx => {
      await tx.run(
        `INSERT INTO comments (card_id, author_kind, author_name, body, created_at)
         SELECT ?, 'imported', 'Somebody', 'x', ? FROM (WITH RECURSIVE n(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < 2500) SELECT at FROM n)`,
        [Number(card.cardId), tx.now],
      )
    })
    expect(await code(owner.client.comments.create({ ...card, body: 'one more' }))).toBe('CONFLICT')
  })

  test('accept an Idempotency-Key', async () => {
    const send = () =>
      board.request('POST', `/api/projects/${projectId}/cards/${card.cardId}/comments`, {
        token: owner.token,
        headers: { 'idempotency-key': 'once' },
        body: { body: 'a' },
      })
    const replies = [await send(), await send()]
    expect(replies.map(({ status }) => status)).toEqual([201, 201])
    expect(replies[1]!.body).toEqual(replies[0]!.body)
    expect(await bodies()).toEqual(['a'])
  })

  test('of a key belong to its owner, and need a separate permission', async () => {
    const viewer = await inProject('viewer')
    const [writes, reads] = [await keyOf(viewer.client, ['comments.write']), await keyOf(viewer.client, ['cards.read'])]
    const made = await writes.comments.create({ ...card, body: 'a' })
    expect(made.author).toMatchObject({ userId: viewer.id })
    await writes.comments.update({ ...card, commentId: made.id, body: 'b' })
    expect(await code(writes.comments.list(card))).toBe('INSUFFICIENT_PERMISSIONS')
    expect(await code(reads.comments.create({ ...card, body: 'c' }))).toBe('INSUFFICIENT_PERMISSIONS')
    expect(await bodies(reads)).toEqual(['b'])
    await writes.comments.delete({ ...card, commentId: made.id })
  })

  test('are reported in an event with the card’s count and the newly mentioned users', async () => {
    const live = await follow(board.url, owner.token, projectId)
    const { id: commentId } = await owner.client.comments.create({
      ...card,
      body: '@[Ada](7) and @[Ada](7), @[Bob](8), not @[x](0), @[a]b](9) or `@[` ',
    })
    await owner.client.comments.update({ ...card, commentId, body: '@[Ada](7) @[Cy](9)' })
    await owner.client.comments.delete({ ...card, commentId })
    const told = [
      await live.message('comment.created'),
      await live.message('comment.updated'),
      await live.message('comment.deleted'),
    ].map(({ data }) => data)
    expect(told.map(({ mentioned, commentCount }) => [mentioned, commentCount])).toEqual([
      [['7', '8'], 1],
      [['9'], 1],
      [undefined, 0],
    ])
    expect(told[2]).toEqual({ id: commentId, cardId: card.cardId, commentCount: 0 })
    live.close()
  })

  test('are deleted with their card', async () => {
    const { id: commentId } = await owner.client.comments.create({ ...card, body: 'a' })
    await owner.client.cards.delete(card)
    expect(await code(owner.client.comments.list(card))).toBe('CARD_NOT_FOUND')
    expect(await code(owner.client.comments.delete({ ...card, commentId }))).toBe('CARD_NOT_FOUND')
    await owner.client.cards.restore(card)
    expect(await bodies()).toEqual(['a'])
    expect((await owner.client.cards.get(card)).commentCount).toBe(1)
  })
})

describe('a mention', () => {
  const listening = async (token: string) => {
    const live = await openSocket(board.url, token)
    const notified = () =>
      live.messages.filter(({ type }) => type === 'notification').map(({ data }) => [data.kind, data.message])
    return { live, notified }
  }

  test('notifies each user once who can see the project and wants mentions, and never the author', async () => {
    const [viewer, quiet, stranger] = [await inProject('viewer'), await inProject('member'), await person()]
    await quiet.client.notifications.set({ mentioned: false })
    const heard = await Promise.all([viewer, quiet, stranger, owner].map(({ token }) => listening(token)))
    const named = [viewer, quiet, stranger, owner].map(({ id }, at) => `@[n${at}](${id})`).join(' ')
    const { id: commentId } = await owner.client.comments.create({ ...card, body: `${named} @[gone](999999)` })
    await owner.client.comments.update({ ...card, commentId, body: `Again ${named}` })
    const last = await owner.client.comments.create({ ...card, body: `@[v](${viewer.id})` })
    expect(last.body).toContain(viewer.id)
    const [first, ...others] = heard
    const { live, notified } = first!
    const message = await live.message('notification', ({ data }) => data.message.endsWith(': @v'))
    expect(message.data).toMatchObject({ kind: 'mentioned', userId: viewer.id, projectId, cardTitle: 'card' })
    const author = owner.client.auth.me()
    expect(notified()).toEqual([
      ['mentioned', `${(await author).displayName} mentioned you: @n0 @n1 @n2 @n3 @gone`],
      ['mentioned', `${(await author).displayName} mentioned you: @v`],
    ])
    expect(others.map(each => each.notified())).toEqual([[], [], []])
    for (const each of heard) each.live.close()
  })

  test('of a watched card notifies once, and not for one’s own', async () => {
    const [watcher, mute, writer] = [await inProject('viewer'), await inProject('member'), await inProject('member')]
    await owner.client.cards.update({ ...card, assigneeIds: [Number(watcher.id), Number(mute.id)] })
    await mute.client.notifications.set({ commented: false })
    const heard = await Promise.all([owner, watcher, mute, writer].map(({ token }) => listening(token)))
    const { id: commentId } = await writer.client.comments.create({ ...card, body: `Hello @[w](${watcher.id})` })
    await writer.client.comments.update({ ...card, commentId, body: 'Changed' })
    await owner.client.comments.create({ ...card, body: 'Last' })
    for (const { live } of [heard[1]!, heard[3]!])
      await live.message('notification', ({ data }: { data: { message: string } }) => data.message.endsWith(': Last'))
    expect(heard.map(each => each.notified().flatMap(([kind]) => (kind === 'assigned' ? [] : [kind])))).toEqual([
      ['commented'],
      ['mentioned', 'commented'],
      [],
      // The author of a comment watches the card.
      ['commented'],
    ])
    for (const each of heard) each.live.close()
  })
})
