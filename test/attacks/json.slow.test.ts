import { afterAll, beforeAll, expect, it } from 'vitest'
import { exampleOf, requestOf, rows, sendsBody, tokenFor } from '../support/contract/examples.ts'
import { type Reply, type TestBoard } from '../support/servers/testBoard.ts'
import { slowdown } from '../support/waiting/eventually.ts'
import { seed, startSlotlessBoard, type Seed } from '../support/contract/seed.ts'

let board: TestBoard
let its: Seed
beforeAll(async () => {
  board = await startSlotlessBoard()
  its = await seed(board)
})
afterAll(() => board.close())

const withBody = rows.filter(
  ({ name, route }) =>
    sendsBody(route) && route.input && route.transfer !== 'upload' && !route.form && name !== 'auth.setup',
)
const send = (row: (typeof rows)[number], raw: string): Promise<Reply> =>
  board.request(row.route.method, requestOf(row.route, exampleOf(row, its)).path.split('?')[0]!, {
    token: tokenFor(row, its),
    raw,
  })
const bodyOf = (row: (typeof rows)[number]) => JSON.stringify(requestOf(row.route, exampleOf(row, its)).options.body)
const clean = () => {
  expect(Object.keys(Object.prototype)).toEqual([])
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  expect((Object as unknown as { polluted?: unknown }).polluted).toBeUndefined()
}

it('names of built-in object properties cause no prototype pollution, at the top level or below', async () => {
  for (const row of withBody)
    for (const poison of [
      '"__proto__":{"polluted":true,"role":"super_admin"}',
      '"constructor":{"prototype":{"polluted":true}}',
    ]) {
      const reply = await send(row, bodyOf(row).replace(/^\{/, `{${poison}${bodyOf(row) === '{}' ? '' : ','}`))
      expect(reply.status, `${row.name} ${reply.text}`).toBeLessThan(500)
      expect(reply.text).not.toContain('polluted":true')
      clean()
    }
})

it('an unexpected role, owner or id is rejected, not accepted', async () => {
  await board.as().auth.setup({ email: 'ada@example.org', password: 'correct horse' })
  const mallory = await board.as().auth.register({ email: 'mallory@example.org', password: 'correct horse' })
  for (const extra of [
    '"role":"super_admin"',
    '"id":"1"',
    '"userId":"1"',
    '"isAdmin":true',
    '"__proto__":{"role":"super_admin"}',
  ]) {
    const reply = await board.request('POST', '/api/auth/register', {
      token: null,
      raw: `{"email":"m${extra.length}@example.org","password":"correct horse",${extra}}`,
    })
    if (reply.status === 201) expect([reply.body.data.user.role, extra.includes('__proto__')]).toEqual(['user', true])
    else expect([reply.status, reply.body.error.code]).toEqual([400, 'VALIDATION_FAILED'])
  }
  const client = board.as(mallory.token)
  const { id: projectId } = await client.projects.create({ name: 'Own', path: board.folder('own') })
  for (const extra of ['ownerId', 'owner', 'userId', 'role'])
    expect(
      (
        await board.request('PATCH', `/api/projects/${projectId}`, {
          token: mallory.token,
          body: { name: 'n', [extra]: '1' },
        })
      ).status,
    ).toBe(400)
  expect((await client.auth.me()).role).toBe('user')
})

it('a duplicate field counts as one field, and the value that is used is the one that is checked', async () => {
  const reply = await board.request('POST', '/api/cards', {
    raw: `{"projectId":"${its.projectId}","title":"first","title":["second"]}`,
  })
  expect([reply.status, reply.body.error.code]).toEqual([400, 'VALIDATION_FAILED'])
})

it('a body of maximum depth is rejected quickly, and other requests are answered at the same time', async () => {
  for (const [open, close, middle] of [
    ['[', ']', ''],
    ['{"a":', '}', '1'],
  ] as const) {
    const depth = Math.floor(1_000_000 / (open.length + 1))
    const startedAt = performance.now()
    const [deep, health] = await Promise.all([
      board.request('PUT', `/api/projects/${its.projectId}/panel-states`, {
        raw: `{"${its.cardId}":${open.repeat(depth)}${middle}${close.repeat(depth)}}`,
      }),
      board.request('GET', '/api/health', { token: null }),
    ])
    expect([deep.status, health.status]).toEqual([400, 200])
    expect(performance.now() - startedAt).toBeLessThan(3000 * slowdown())
  }
})

it('lists of 100,000 ids are rejected quickly by every route that accepts a list', async () => {
  const lists = withBody.filter(
    ({ route }) =>
      route.input &&
      'entries' in route.input &&
      ['ids', 'steps', 'labels', 'permissions', 'events', 'copiedFiles', 'columns', 'hiddenToolTypes'].some(
        name => name in (route.input as unknown as { entries: object }).entries,
      ),
  )
  expect(lists.length).toBeGreaterThan(8)
  for (const row of lists)
    for (const item of [`"${its.cardId}"`, '1', '{}']) {
      const field = [
        'ids',
        'steps',
        'labels',
        'permissions',
        'events',
        'copiedFiles',
        'columns',
        'hiddenToolTypes',
      ].find(name => name in (row.route.input as unknown as { entries: object }).entries)!
      const { [field]: _, ...rest } = requestOf(row.route, exampleOf(row, its)).options.body as Record<string, unknown>
      const startedAt = performance.now()
      const reply = await send(
        row,
        JSON.stringify(rest).replace(
          /\}$/,
          `${Object.keys(rest).length > 0 ? ',' : ''}"${field}":[${Array(100_000).fill(item).join()}]}`,
        ),
      )
      expect([reply.status, reply.body.error.code], row.name).toEqual([
        400,
        expect.stringMatching(/VALIDATION_FAILED|INVALID_ORDER|INVALID_PIPELINE/),
      ])
      expect(reply.body.error.details[0].path, row.name).toBe(field)
      expect(performance.now() - startedAt, row.name).toBeLessThan(1000 * slowdown())
    }
})

it('a query with 100,000 names, and one with names of built-in properties, is rejected', async () => {
  for (const query of [
    '__proto__=1',
    '__proto__[role]=super_admin',
    'constructor=1',
    'constructor.prototype.x=1',
    'limit=1&limit=2',
    'limit[]=1',
  ])
    expect(
      (await board.request('GET', `/api/cards?projectId=${its.projectId}&${query}`)).status,
      query,
    ).toBeGreaterThanOrEqual(400)
  clean()
})
