import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let projectId: string
let backlog: string
let active: string
let otherBoard: string
const ids: Record<string, string> = {}

beforeAll(async () => {
  board = await startBoard()
  projectId = (await board.client.projects.create({ name: 'Lists', path: board.dataDir })).id
  ;[backlog, active] = (await board.client.columns.list({ projectId })).map(({ id }) => id) as [string, string]
  otherBoard = (await board.client.boards.create({ projectId, name: 'Other' })).id
  const otherColumn = (await board.client.columns.list({ projectId, boardId: otherBoard }))[0]!.id
  const labels: Record<string, string[]> = { a: ['bug'], b: ['debugging', '100%'], c: ['ui'], d: ['a_b'] }
  for (const title of 'abcdefgh')
    ids[title] = (
      await board.client.cards.create({
        projectId,
        title,
        labels: labels[title],
        columnId: title === 'e' ? active : title === 'f' ? otherColumn : backlog,
      })
    ).id
  await board.client.cards.archive({ projectId, cardId: ids.g! })
  await board.client.cards.delete({ projectId, cardId: ids.h! })
  await board.client.projects
    .create({ name: 'Foreign', path: board.dataDir })
    .then(({ id }) => board.client.cards.create({ projectId: id, title: 'foreign' }))
})
afterAll(() => board.close())

const list = (query: string) => board.request('GET', `/api/projects/${projectId}/cards?${query}`)
const titles = async (query: string) => {
  const reply = await list(query)
  expect(reply.status, reply.text).toBe(200)
  return (reply.body.data as Array<{ title: string }>).map(({ title }) => title).join('')
}
const refusal = async (query: string) => {
  const { status, body } = await list(query)
  return [status, body.error?.code, body.error?.details?.[0]?.path]
}

describe("the list of a project's cards", () => {
  it('is sorted by id, without archived and deleted cards and those of other projects', async () => {
    expect(await titles('')).toBe('abcdef')
    expect(await titles('archived=true')).toBe('g')
    expect(await titles('archived=false')).toBe('abcdef')
  })

  it('can be filtered by unread cards', async () => {
    const { key } = await board.client.keys.create({
      name: 'ci',
      scope: 'project',
      projectId,
      permissions: ['cards.create'],
    })
    const made = await board.request('POST', `/api/external/projects/${projectId}/cards`, {
      token: key,
      body: { title: 'i' },
    })
    const id = String(made.body.data.id)
    expect(await titles('unread=true')).toBe('i')
    expect(await titles('unread=true&status=completed')).toBe('')
    await board.client.cards.view({ projectId, cardId: id })
    expect(await titles('unread=true')).toBe('')
    await board.client.cards.delete({ projectId, cardId: id })
  })

  it('can be filtered by board, column or status', async () => {
    expect(await titles(`boardId=${otherBoard}`)).toBe('f')
    expect(await titles(`columnId=${active}`)).toBe('e')
    expect(await titles(`columnId=${active}&boardId=${otherBoard}`)).toBe('')
    expect(await titles('status=idle')).toBe('abcdef')
    expect(await titles('status=running')).toBe('')
    expect(await refusal('status=asleep')).toEqual([400, 'VALIDATION_FAILED', 'status'])
  })

  it('can be searched by a part of the labels or of the title, literally', async () => {
    expect(await titles('label=bug')).toBe('ab')
    expect(await titles('label=100%25')).toBe('b')
    expect(await titles('label=_')).toBe('d')
    expect(await titles('label=%25')).toBe('b')
    expect(await titles('search=A')).toBe('a')
    for (const letter of ['%25', '_', '%5C', '%5C%25']) expect(await titles(`search=${letter}`)).toBe('')
  })

  it('is returned in pages after the last id', async () => {
    expect(await titles('limit=2')).toBe('ab')
    expect(await titles(`limit=2&cursor=${ids.b}`)).toBe('cd')
    expect(await titles(`limit=3&cursor=${ids.d}`)).toBe('ef')
    expect(await titles(`cursor=${ids.f}`)).toBe('')
    expect(await titles('cursor=0')).toBe('abcdef')
  })

  it('can be one column in order, from an offset on', async () => {
    await board.client.cards.move({ projectId, cardId: ids.d!, columnId: backlog, position: 0 })
    expect(await titles(`columnId=${backlog}&offset=0`)).toBe('dabc')
    expect(await titles(`columnId=${backlog}&offset=1&limit=2`)).toBe('ab')
    expect(await titles(`columnId=${backlog}&offset=4`)).toBe('')
    expect(await refusal('offset=0')).toEqual([400, 'VALIDATION_FAILED', 'offset'])
  })

  it('reduces a limit above the maximum, and rejects one below 1', async () => {
    expect(await titles('limit=999999999')).toBe('abcdef')
    for (const limit of ['0', '-1', '1.5', 'x', '', '1e3', ' 1', '0x10'])
      expect(await refusal(`limit=${limit}`), limit).toEqual([400, 'VALIDATION_FAILED', 'limit'])
  })

  it('rejects unknown fields, and duplicate fields', async () => {
    expect(await refusal('colour=red')).toEqual([400, 'VALIDATION_FAILED', 'colour'])
    expect((await refusal('limit=1&limit=2')).slice(0, 2)).toEqual([400, 'VALIDATION_FAILED'])
    for (const id of ['0', '-1', 'x', '1.5'])
      expect(await refusal(`columnId=${id}`)).toEqual([400, 'VALIDATION_FAILED', 'columnId'])
  })
})

describe('routes without a project in the path', () => {
  it('return the card and its state', async () => {
    expect(await board.client.cards.getFlat({ id: ids.e! })).toEqual(
      await board.client.cards.get({ projectId, cardId: ids.e! }),
    )
    expect(await board.client.cards.status({ id: ids.e! })).toEqual({
      id: ids.e,
      title: 'e',
      columnName: 'In Progress',
      hasActiveAgent: false,
      status: 'idle',
      statusReason: null,
    })
  })
})
