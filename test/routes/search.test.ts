import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { end } from '../../src/domain/agents/sessions.ts'
import { insertSession } from '../../src/store/agents/sessions.ts'
import { insertMessage, insertPiece } from '../../src/store/agents/transcripts.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let projectId: string
beforeAll(async () => {
  board = await startBoard()
  await board.client.auth.setup({ email: 'ada@example.org', password: 'correct horse' })
  projectId = (await board.client.projects.create({ name: 'Harbour', path: board.folder('harbour') })).id
})
afterAll(() => board.close())

const find = (query: object) => board.client.search.find({ q: 'x', ...query } as { q: string })
const titles = async (query: object) => (await find(query)).map(({ title }) => title)
const add = (title: string, prompt = '') => board.client.cards.create({ projectId, title, prompt })

test('a card is found immediately by words of its title, prompt and labels, titles first and then the newest', async () => {
  const inPrompt = await add('Paint the boat', 'The anchor must stay clear of the paint.')
  await add('Lift the anchor', 'Slowly.')
  expect(await titles({ q: 'anchor' })).toEqual(['Lift the anchor', 'Paint the boat'])
  expect(await find({ q: 'anchor clear' })).toMatchObject([
    {
      type: 'card',
      id: inPrompt.id,
      projectId,
      projectName: 'Harbour',
      columnName: 'Backlog',
      status: 'idle',
      archived: false,
      excerpt: expect.stringContaining('anchor must stay') as string,
    },
  ])
  await board.client.cards.update({ projectId, cardId: inPrompt.id, labels: ['Éclair'], title: 'Paint the hull' })
  expect(await titles({ q: 'eclair' })).toEqual(['Paint the hull'])
  expect(await titles({ q: 'boat' })).toEqual([])
})

test('an excerpt of a long prompt shows 80 characters around the first word, with an ellipsis', async () => {
  await add('Buoys', `${'w'.repeat(100)} 0123456789012345 flotsam ${'z'.repeat(100)}`)
  expect((await find({ q: 'flotsam' })).map(({ excerpt }) => excerpt)).toEqual([
    `…ww 0123456789012345 flotsam ${'z'.repeat(52)}…`,
  ])
  expect((await find({ q: 'wwww' })).map(({ excerpt }) => excerpt)).toEqual([`${'w'.repeat(80)}…`])
})

test('the last word matches as a prefix, and special characters in a query have no meaning', async () => {
  const { id } = await add('Fix the lighthouse-door', 'It says "closed" (always)')
  for (const q of ['fix lightho', 'lighthouse-door', '"closed"', 'closed*', '(always)', '^fix'])
    expect(
      (await find({ q })).map(hit => hit.id),
      q,
    ).toEqual([id])
  for (const q of ['fix OR nothing', 'NEAR(fix door)', 'title:fix', 'a" b:c ^d {e}', "-- '"])
    expect((await board.request('GET', `/api/search?${new URLSearchParams({ q })}`)).body, q).not.toMatchObject({
      data: [{ id }],
    })
  expect((await board.request('GET', '/api/search?q=%2A%20-')).body.error).toMatchObject({
    code: 'VALIDATION_FAILED',
    details: [{ path: 'q' }],
  })
})

test('archived cards are found and marked, deleted ones are not, and restored ones are again', async () => {
  const { id: cardId } = await add('Sweep the quay')
  await board.client.cards.archive({ projectId, cardId })
  expect(await find({ q: 'quay' })).toMatchObject([{ id: cardId, archived: true }])
  await board.client.cards.delete({ projectId, cardId })
  expect(await find({ q: 'quay' })).toEqual([])
  await board.client.cards.restore({ projectId, cardId })
  expect(await find({ q: 'quay' })).toMatchObject([{ id: cardId }])
})

describe('a card is also found by', () => {
  const comment = (cardId: string, body: string) => board.client.comments.create({ projectId, cardId, body })
  /** A session of the card's agent that ends with these messages. */
  /** A session whose agent has sent these messages. It begins and ends in one transaction, because no agent runs. */
  async function said(id: string, ...texts: string[]) {
    const { db, supervisor } = board.server.app
    const cardId = Number(id)
    await db.transaction(async tx => {
      const session = { projectId: Number(projectId), cardId, agent: 'fixture', prompt: '' } as const
      const sessionId = await insertSession(tx, { ...session, purpose: 'work', status: 'running' })
      for (const text of texts) {
        const message = await insertMessage(tx, { sessionId, cardId, role: 'agent' })
        for (const piece of [text.slice(0, 9), text.slice(9)]) await insertPiece(tx, message, JSON.stringify(piece))
      }
      await end(tx, supervisor, sessionId, { status: 'completed' })
    })
  }
  const found = async (q: string) =>
    (await find({ q })).map(({ id, foundIn, author, excerpt }) => ({ id, foundIn, author, excerpt }))

  test('the current text of its comments, once per card, after cards with the words in their own text', async () => {
    const { id: quiet } = await add('Quiet')
    const { id: loud } = await add('Loud', 'A foghorn is loud.')
    await comment(quiet, 'An old foghorn.')
    const newest = await comment(quiet, 'The foghorn is broken.')
    await comment(loud, 'Which foghorn?')
    expect(await find({ q: 'foghorn' })).toMatchObject([
      { type: 'card', id: loud, foundIn: 'card', author: null, commentId: null },
      {
        type: 'card',
        id: quiet,
        title: 'Quiet',
        foundIn: 'comment',
        author: newest.author.displayName,
        commentId: newest.id,
        excerpt: 'The foghorn is broken.',
      },
    ])
    expect(await titles({ q: 'foghorn brok' })).toEqual(['Quiet'])
    await board.client.comments.update({ projectId, cardId: quiet, commentId: newest.id, body: 'The siren is broken.' })
    expect(await find({ q: 'siren' })).toMatchObject([{ id: quiet, commentId: newest.id }])
    expect(await titles({ q: 'foghorn broken' })).toEqual([])
    await board.client.comments.delete({ projectId, cardId: quiet, commentId: newest.id })
    expect(await titles({ q: 'siren' })).toEqual([])
    await board.client.cards.delete({ projectId, cardId: quiet })
    expect(await titles({ q: 'old foghorn' })).toEqual([])
    await board.client.cards.restore({ projectId, cardId: quiet })
    expect(await titles({ q: 'old foghorn' })).toEqual(['Quiet'])
    await board.client.comments.delete({
      projectId,
      cardId: quiet,
      commentId: (await board.client.comments.list({ projectId, cardId: quiet, limit: 1 })).items[0]!.id,
    })
    const indexed = await board.server.app.db.all(`SELECT rowid FROM card_talks WHERE card_talks MATCH 'body : siren'`)
    expect(indexed).toEqual([])
  })

  test('the last message of its agent, and no earlier one', async () => {
    const { id: cardId } = await add('Caulk')
    await said(cardId, 'I look for the oakum.', `${'w '.repeat(20_000)}The seams are caulked with pitch.`)
    expect(await found('pitch')).toEqual([
      { id: cardId, foundIn: 'message', author: null, excerpt: expect.stringContaining('caulked with pitch.') },
    ])
    expect(await found('oakum')).toEqual([])
    await said(cardId, 'All is dry.')
    expect([await found('pitch'), await titles({ q: 'dry' })]).toEqual([[], ['Caulk']])
    await board.client.cards.delete({ projectId, cardId })
    expect(await found('dry')).toEqual([])
  })

  test('neither for those who cannot read it, and messages require agents.read of a key', async () => {
    const { id: cardId } = await add('Secret')
    await comment(cardId, 'The password is bilgewater.')
    await said(cardId, 'The keel is teak.')
    const { token } = await board.client.auth.register({ email: 'eve@example.org', password: 'battery staple' })
    const keyWith = async (...permissions: ('cards.read' | 'agents.read')[]) =>
      (await board.client.keys.create({ name: 'k', scope: 'project', projectId, permissions })).key
    const seen = async (q: string) =>
      Promise.all(
        [token, await keyWith('cards.read'), await keyWith('cards.read', 'agents.read')].map(
          async each => (await board.as(each).search.find({ q })).length,
        ),
      )
    expect(await seen('bilgewater')).toEqual([0, 1, 1])
    expect(await seen('teak')).toEqual([0, 0, 1])
  })
})

test('projects and boards are found by a part of their name', async () => {
  await board.client.boards.create({ projectId, name: 'Dry dock' })
  expect(await find({ q: 'ry doc' })).toMatchObject([{ type: 'board', title: 'Dry dock', projectName: 'Harbour' }])
  expect(await find({ q: 'harb' })).toMatchObject([{ type: 'project', id: projectId }])
})

test('a search omits results that the user cannot see, and a foreign project returns the same as a missing one', async () => {
  const { token } = await board.client.auth.register({ email: 'bob@example.org', password: 'battery staple' })
  expect(await board.as(token).search.find({ q: 'anchor' })).toEqual([])
  const foreign = await board.request('GET', `/api/search?q=anchor&projectId=${projectId}`, { token })
  const missing = await board.request('GET', '/api/search?q=anchor&projectId=99999', { token })
  expect([foreign.status, foreign.body.error.code]).toEqual([404, 'PROJECT_NOT_FOUND'])
  expect(foreign.body).toEqual(missing.body)
  const { id: own } = await board.as(token).projects.create({ name: 'Bay', path: board.folder('bay') })
  await board.as(token).cards.create({ projectId: own, title: 'Drop the anchor' })
  expect((await board.as(token).search.find({ q: 'anchor' })).map(({ title }) => title)).toEqual(['Drop the anchor'])
})

test('a key lists and finds only records in its scope, regardless of its owner', async () => {
  const elsewhere = (await board.client.projects.create({ name: 'Buoy', path: board.folder('buoy') })).id
  await board.client.cards.create({ projectId: elsewhere, title: 'Drop the anchor' })
  const keyOf = async (fields: object) =>
    (
      await board.client.keys.create({
        name: 'k',
        scope: 'server',
        permissions: ['projects.read', 'cards.read'],
        ...fields,
      })
    ).key
  const seen = async (key: string) => [
    (await board.as(key).projects.list()).map(({ name }) => name).sort(),
    [...new Set((await board.as(key).search.find({ q: 'anchor' })).map(({ projectName }) => projectName))].sort(),
  ]
  expect(await seen(await keyOf({ scope: 'project', projectId: elsewhere }))).toEqual([['Buoy'], ['Buoy']])
  expect(await seen(await keyOf({}))).toEqual([
    ['Bay', 'Buoy', 'Harbour'],
    ['Bay', 'Buoy', 'Harbour'],
  ])
  const narrow = await keyOf({ scope: 'project', projectId: elsewhere })
  const outside = await board.request('GET', `/api/search?q=anchor&projectId=${projectId}`, { token: narrow })
  expect(outside.body.error.code).toBe('PROJECT_NOT_FOUND')
  const reader = await keyOf({ permissions: ['cards.read'] })
  expect((await board.request('GET', '/api/projects', { token: reader })).body.error).toMatchObject({
    code: 'INSUFFICIENT_PERMISSIONS',
    message: expect.stringContaining('projects.read'),
  })
})

test('the days of a project end with its current state', async () => {
  const days = await board.client.projects.history({ id: projectId })
  const stats = await board.client.projects.stats({ id: projectId })
  const { backlog, active, done } = days.at(-1)!
  expect(backlog + active + done).toBe(stats.total)
  expect(days.at(-1)!.day).toBe(new Date().toISOString().slice(0, 10))
})
