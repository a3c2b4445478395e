import { afterAll, beforeAll, expect, it } from 'vitest'
import { atOnce } from '../support/servers/atOnce.ts'
import { startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { openSocket } from '../support/receivers/liveSocket.ts'

const password = 'a long password'
const next = 'another long password'
let board: TestBoard
let aheadMs = 0

beforeAll(async () => {
  board = await startBoard({ clock: () => new Date(Date.now() + aheadMs) })
  await board.as().auth.setup({ email: 'root@example.org', password })
})
afterAll(() => board.close())

let made = 0
const register = async () => {
  const email = `person${++made}@example.org`
  return { email, token: (await board.as().auth.register({ email, password })).token }
}
const logIn = (email: string, secret: string, headers?: Record<string, string>) =>
  board.request('POST', '/api/auth/login', { token: null, body: { email, password: secret }, headers })
const change = (token: string | null, currentPassword: unknown, newPassword: unknown) =>
  board.request('PUT', '/api/auth/password', { token, body: { currentPassword, newPassword } })
const codeOf = ({ status, body }: Reply) => [status, body?.error?.code]
const statusOf = async (token: string) => (await board.request('GET', '/api/auth/me', { token })).status

it('sign-ins are listed with their origin, the newest first, and an ended one is revoked immediately', async () => {
  const { email, token } = await register()
  const other = (await logIn(email, password, { 'user-agent': `probe/1 ${'x'.repeat(300)}` })).body.data.token
  const [theirs, mine, ...more] = await board.as(token).auth.sessions()
  expect(more).toEqual([])
  expect(mine).toMatchObject({ current: true, address: '127.0.0.1' })
  expect(theirs).toMatchObject({ current: false, address: '127.0.0.1' })
  expect(theirs!.client).toMatch(/^probe\/1 x{192}$/)
  expect(Object.keys(theirs!)).not.toContain('hash')
  const live = await openSocket(board.url, other)
  expect((await board.request('DELETE', `/api/auth/sessions/${theirs!.id}`, { token })).status).toBe(204)
  expect([await statusOf(other), await statusOf(token)]).toEqual([401, 200])
  await eventually('the end of the socket', () => live.closed)
  expect(codeOf(await board.request('DELETE', `/api/auth/sessions/${theirs!.id}`, { token }))).toEqual([
    404,
    'SIGN_IN_NOT_FOUND',
  ])
})

it('a user cannot list or end the sign-ins of another, not even as an administrator', async () => {
  const [one, two] = [await register(), await register()]
  const { id } = (await board.as(one.token).auth.sessions())[0]!
  for (const token of [two.token, board.token]) {
    expect((await board.as(token).auth.sessions()).map(each => each.id)).not.toContain(id)
    expect(codeOf(await board.request('DELETE', `/api/auth/sessions/${id}`, { token }))).toEqual([
      404,
      'SIGN_IN_NOT_FOUND',
    ])
  }
  expect(await statusOf(one.token)).toBe(200)
})

it('the last use of a sign-in is recorded to the minute, and an expired one is not listed', async () => {
  const { email, token } = await register()
  const used = async () => Date.parse((await board.as(token).auth.sessions())[0]!.lastUsedAt!)
  const before = await used()
  aheadMs += 61_000
  await statusOf(token)
  await eventually('the later use', async () => (await used()) >= before + 61_000)
  await logIn(email, password)
  expect(await board.as(token).auth.sessions()).toHaveLength(2)
  aheadMs += 29 * 86_400_000
  expect(await statusOf(token)).toBe(200)
  await eventually(
    'its longer life',
    async () =>
      Date.parse((await board.as(token).auth.sessions()).at(-1)!.expiresAt) > Date.now() + aheadMs + 29.5 * 86_400_000,
  )
  aheadMs += 2 * 86_400_000
  expect(await board.as(token).auth.sessions()).toHaveLength(1)
})

it('a password change requires the old password, and ends all other sign-ins but no key', async () => {
  const { email, token } = await register()
  const other = (await logIn(email, password)).body.data.token
  const { key } = await board.as(token).keys.create({ name: 'k', scope: 'server', permissions: ['cards.read'] })
  const live = await openSocket(board.url, other)
  expect((await change(token, password, next)).status).toBe(204)
  expect([await statusOf(token), await statusOf(other)]).toEqual([200, 401])
  await eventually('the end of the socket', () => live.closed)
  expect((await board.request('GET', '/api/external/projects/1/boards', { token: key })).status).toBe(404)
  expect([(await logIn(email, password)).status, (await logIn(email, next)).status]).toEqual([401, 200])
})

it('a password is not changed without the current one, and guesses are throttled like a sign-in', async () => {
  const { email, token } = await register()
  expect(codeOf(await change(token, password, 'short'))).toEqual([400, 'VALIDATION_FAILED'])
  expect(codeOf(await change(token, password, password))).toEqual([400, 'VALIDATION_FAILED'])
  expect(codeOf(await change(null, password, next))).toEqual([401, 'UNAUTHENTICATED'])
  const { key } = await board.as(token).keys.create({ name: 'k', scope: 'server', permissions: ['cards.read'] })
  expect(codeOf(await change(key, password, next))).toEqual([403, 'INSUFFICIENT_PERMISSIONS'])
  const codes = []
  for (let round = 0; round < 12; round++) codes.push((await change(token, `wrong ${round}`, next)).status)
  expect(codes.slice(0, 9).filter(code => code !== 401 && code !== 429)).toEqual([])
  expect(codes.at(-1)).toBe(429)
  expect(codeOf(await change(token, password, next))).toEqual([429, 'RATE_LIMITED'])
  expect(codeOf(await logIn(email, password))).toEqual([429, 'RATE_LIMITED'])
})

it('of two concurrent changes one succeeds', async () => {
  const fresh = await startBoard()
  try {
    const { token } = await fresh.as().auth.setup({ email: 'root@example.org', password })
    const to = (newPassword: string) => () =>
      fresh.request('PUT', '/api/auth/password', { token, body: { currentPassword: password, newPassword } })
    const statuses = (await atOnce(fresh, [to(`${next} 1`), to(`${next} 2`)])).map(({ status }) => status)
    expect(statuses.filter(status => status === 204)).toHaveLength(1)
    expect(statuses.filter(status => status === 401 || status === 409)).toHaveLength(1)
  } finally {
    await fresh.close()
  }
})
