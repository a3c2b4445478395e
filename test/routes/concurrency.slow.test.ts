import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let projectId: string
let columns: string[]
let ids: string[]
beforeAll(async () => {
  board = await startBoard({ externalRequestsPerMinute: Infinity })
})
afterAll(() => board.close())
beforeEach(async () => {
  projectId = (await board.client.projects.create({ name: 'Busy', path: board.dataDir })).id
  columns = (await board.client.columns.list({ projectId })).map(({ id }) => id)
  ids = []
})

/** A repeatable source of numbers below `limit`. */
function numbers(state: number): (limit: number) => number {
  return limit => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0
    return (state >>> 0) % limit
  }
}

const cardPath = (id: string) => `/api/projects/${projectId}/cards/${id}`
const create = async (columnId = columns[0]!): Promise<Reply> => {
  const reply = await board.request('POST', '/api/cards', { body: { projectId, title: 'x', columnId } })
  if (reply.status === 201) ids.push(reply.body.data.id)
  return reply
}
const move = (id: string, columnId: string, position?: number) =>
  board.request('PATCH', `${cardPath(id)}/move`, { body: { columnId, position } })
const archive = (id: string) => board.request('POST', `${cardPath(id)}/archive`)
const remove = (id: string) => board.request('DELETE', cardPath(id))
const fill = async (count: number) => {
  for (let i = 0; i < count; i += 100)
    await Promise.all(Array.from({ length: Math.min(100, count - i) }, () => create()))
}

/** A random change of a random card, and the statuses that it can return while other clients delete cards. */
async function change(random: (limit: number) => number, column: () => string): Promise<void> {
  const id = ids[random(ids.length)]!
  const kind = random(10)
  if (kind < 5) expect([200, 404]).toContain((await move(id, column(), random(400))).status)
  else if (kind < 7) expect((await create(column())).status).toBe(201)
  else if (kind < 8) expect([200, 404]).toContain((await archive(id)).status)
  else if (kind < 9) expect([200, 404]).toContain((await board.request('POST', `${cardPath(id)}/unarchive`)).status)
  else expect([204, 404]).toContain((await remove(id)).status)
}

/** Reads all columns through every route: each card that is neither archived nor deleted must have one position, without gaps. */
async function expectDense(): Promise<void> {
  const shown = new Map<string, [string, number]>()
  for (const { id: columnId, cardCount } of await board.client.columns.list({ projectId })) {
    const items = await board.client.cards.list({ projectId, columnId, offset: 0 })
    expect(items.map(({ position }) => position)).toEqual(items.map((_, at) => at))
    expect(cardCount).toBe(items.length)
    for (const { id, position } of items) {
      expect(shown.has(id)).toBe(false)
      shown.set(id, [columnId, position!])
    }
  }
  const listed = await board.client.cards.list({ projectId })
  expect(listed.length).toBeLessThan(1000)
  expect(new Map(listed.map(({ id, columnId, position }) => [id, [columnId, position]]))).toEqual(
    new Map([...shown].sort(([a], [b]) => Number(a) - Number(b))),
  )
  const stats = await board.client.projects.stats({ id: projectId })
  expect([stats.total, ...stats.byColumn.map(({ count }) => count)]).toEqual([
    shown.size,
    ...stats.byColumn.map(({ columnId }) => [...shown.values()].filter(([column]) => column === columnId).length),
  ])
  const archived = await board.client.cards.list({ projectId, archived: true })
  expect(archived.filter(({ id, position }) => position !== null || shown.has(id))).toEqual([])
}

describe('two hundred concurrent requests', () => {
  it('that move, create, archive and delete leave a column of several hundred cards dense and its positions unique', async () => {
    await fill(300)
    const random = numbers(7)
    const victims = [...ids]
    const taken = () => victims.splice(random(victims.length), 1)[0]!
    const work = Array.from(
      { length: 200 },
      (_, i) =>
        [() => move(taken(), columns[0]!, random(300)), () => create(), () => archive(taken()), () => remove(taken())][
          i % 4
        ]!,
    )
    const replies = await Promise.all(work.map(start => start()))
    expect(replies.map(({ status }) => status)).toEqual(
      Array.from({ length: 200 }, (_, i) => [200, 201, 200, 204][i % 4]),
    )
    expect((await board.client.columns.list({ projectId }))[0]!.cardCount).toBe(250)
    await expectDense()
  })

  it('for the same cards and any column leave every column dense', async () => {
    await fill(40)
    const random = numbers(11)
    for (let round = 0; round < 2; round++) {
      await Promise.all(Array.from({ length: 200 }, () => change(random, () => columns[random(3)]!)))
      await expectDense()
    }
  })

  it('that move one card leave it in one position', async () => {
    await fill(5)
    const replies = await Promise.all(Array.from({ length: 200 }, (_, i) => move(ids[0]!, columns[i % 3]!, i % 5)))
    expect(replies.filter(({ status }) => status !== 200)).toEqual([])
    await expectDense()
  })

  it('creating cards puts each at the position that its response states', async () => {
    const made = await Promise.all(Array.from({ length: 100 }, () => create()))
    expect(made.map(({ body }) => body.data.position).sort((a, b) => a - b)).toEqual(made.map((_, at) => at))
    const items = await board.client.cards.list({ projectId, columnId: columns[0], offset: 0 })
    expect(items.map(({ id }) => id)).toEqual(
      made
        .map(({ body }) => body.data)
        .sort((a, b) => a.position - b.position)
        .map(({ id }) => id),
    )
  })

  it('to the external routes and the internal ones keep one order', async () => {
    await fill(60)
    const { key } = await board.client.keys.create({
      name: 'k',
      scope: 'project',
      projectId,
      permissions: ['cards.read', 'cards.move', 'cards.create', 'agents.archive'],
    })
    const external = (method: string, path: string, body?: unknown) =>
      board.request(method, `/api/external/projects/${projectId}/cards${path}`, { token: key, body })
    const replies = await Promise.all(
      ids
        .slice(0, 60)
        .flatMap((id, i) => [
          external('PATCH', `/${id}/move`, { targetColumnId: Number(columns[i % 2]), position: i % 7 }),
          move(id, columns[(i + 1) % 2]!, 0),
          i % 6 === 0 ? external('POST', `/${id}/archive`) : external('POST', '', { title: 'new' }),
        ]),
    )
    expect(replies.filter(({ status }) => status >= 300)).toEqual([])
    await expectDense()
    const items = (await external('GET', '?limit=100')).body.data.items as Array<{
      id: number
      columnId: number
      position: number
    }>
    expect(items.map(({ id, columnId, position }) => [String(id), String(columnId), position])).toEqual(
      (await board.client.cards.list({ projectId, limit: 100 })).map(({ id, columnId, position }) => [
        id,
        columnId,
        position,
      ]),
    )
  })

  it('that clear and delete a column while others fill it lose no card and leave none behind', async () => {
    const { id: columnId } = await board.client.columns.create({
      projectId,
      boardId: (await board.client.boards.list({ projectId }))[0]!.id,
      name: 'Brief',
      columnType: 'backlog',
    })
    await fill(20)
    const path = `/api/projects/${projectId}/columns/${columnId}`
    const replies = await Promise.all(
      Array.from({ length: 200 }, (_, i) => {
        if (i % 20 === 7) return board.request('POST', `${path}/clean-all`)
        if (i % 20 === 13) return board.request('DELETE', path)
        return i % 2 ? create(columnId) : move(ids[i % 20]!, columnId, 0)
      }),
    )
    expect(replies.filter(({ status }) => ![200, 201, 204, 404, 409].includes(status))).toEqual([])
    await expectDense()
    const present = await board.client.columns.list({ projectId })
    for (const id of ids) {
      const { status, body } = await board.request('GET', cardPath(id))
      expect(status === 404 || present.some(column => column.id === body.data.columnId)).toBe(true)
    }
  })
})

it('thirty-two writers run for a while without an error, next to readers', async () => {
  await fill(200)
  let writing = true
  const readers = Array.from({ length: 4 }, async () => {
    let reads = 0
    for (; writing; reads++)
      expect(
        (await board.client.cards.list({ projectId, columnId: columns[reads % 3], offset: 0, limit: 50 })).every(
          ({ position }, at) => position === at,
        ),
      ).toBe(true)
    return reads
  })
  await Promise.all(
    Array.from({ length: 32 }, async (_, writer) => {
      const random = numbers(writer + 1)
      for (let i = 0; i < 15; i++) await change(random, () => columns[random(3)]!)
    }),
  )
  writing = false
  for (const reads of await Promise.all(readers)) expect(reads).toBeGreaterThan(0)
  await expectDense()
})
