import { afterAll, beforeAll, expect, it } from 'vitest'
import { startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

const bob = { email: 'bob@example.org', password: 'battery staple 2' }
let board: TestBoard
beforeAll(async () => {
  board = await startBoard({ trustProxy: true })
  await board.as().auth.setup(bob)
})
afterAll(() => board.close())

let peers = 0
const newPeer = () => ({ 'x-forwarded-for': `198.51.100.${++peers}` })
const login = (peer: Record<string, string>, body: { email: string; password: string }) =>
  board.request('POST', '/api/auth/login', { token: null, body, headers: peer })
const codeOf = ({ status, body }: Reply) => [status, body?.error?.code]

it('throttles after ten failures of an address in a minute, and returns the wait', async () => {
  const peer = newPeer()
  for (let i = 0; i < 10; i++)
    expect(codeOf(await login(peer, { email: `a${i}@example.org`, password: 'wrong' }))).toEqual([
      401,
      'INVALID_CREDENTIALS',
    ])
  const refused = await login(peer, bob)
  expect(codeOf(refused)).toEqual([429, 'RATE_LIMITED'])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60)
  expect(refused.headers.get('ratelimit-policy')).toBe('"failures";q=10;w=60')
  expect(refused.headers.get('ratelimit')).toBe(`"failures";r=0;t=${refused.headers.get('retry-after')}`)
  expect((await login(newPeer(), bob)).status).toBe(200)
})

it('throttles after ten failures for an email, from any address and in any spelling', async () => {
  for (let i = 0; i < 10; i++)
    expect(
      codeOf(await login(newPeer(), { email: i % 2 ? 'carl@example.org' : 'CARL@example.org', password: 'wrong' })),
    ).toEqual([401, 'INVALID_CREDENTIALS'])
  expect(codeOf(await login(newPeer(), { email: 'carl@example.org', password: 'wrong' }))).toEqual([
    429,
    'RATE_LIMITED',
  ])
})

it('returns the longer wait if both an address and an email have failed too often', async () => {
  const [peer, email] = [newPeer(), 'dora@example.org']
  for (let i = 0; i < 10; i++) await login(newPeer(), { email, password: 'wrong' })
  const until = async (...asked: Parameters<typeof login>) =>
    Date.now() / 1000 + Number((await login(...asked)).headers.get('retry-after'))
  const ofEmail = await until(newPeer(), { email, password: 'wrong' })
  await eventually('another second', () => Date.now() / 1000 - (ofEmail - 60) > 2.5)
  for (let i = 0; i < 10; i++) await login(peer, { email: `d${i}@example.org`, password: 'wrong' })
  expect(await until(peer, { email, password: 'wrong' })).toBeGreaterThan(ofEmail + 1)
})

it('counts the addresses of one IPv6 network as one', async () => {
  for (let i = 0; i < 10; i++)
    await login({ 'x-forwarded-for': `2001:db8:1:2:${i}::${i}` }, { email: `b${i}@example.org`, password: 'wrong' })
  expect(codeOf(await login({ 'x-forwarded-for': '2001:db8:1:2:ffff::1' }, bob))).toEqual([429, 'RATE_LIMITED'])
  expect((await login({ 'x-forwarded-for': '2001:db8:1:3::1' }, bob)).status).toBe(200)
})

it('allows no more than ten concurrent guesses', async () => {
  const peer = newPeer()
  const replies = await Promise.all(
    Array.from({ length: 40 }, (_, i) => login(peer, { email: `c${i}@example.org`, password: 'wrong' })),
  )
  expect(replies.filter(reply => reply.status === 401)).toHaveLength(10)
  expect(replies.filter(reply => reply.status === 429)).toHaveLength(30)
})

it('does not count successes', async () => {
  const peer = newPeer()
  for (let i = 0; i < 12; i++) expect((await login(peer, bob)).status).toBe(200)
})

it('answers others while a burst of sign-ins is queued, and serves the burst', async () => {
  const order: string[] = []
  const peer = newPeer()
  const burst = Promise.all(Array.from({ length: 60 }, () => login(peer, bob))).finally(() => order.push('burst'))
  for (let i = 0; i < 10; i++) expect((await board.request('GET', '/api/health')).status).toBe(200)
  order.push('health')
  expect((await burst).map(reply => reply.status)).toEqual(Array(60).fill(200))
  expect(order).toEqual(['health', 'burst'])
})
