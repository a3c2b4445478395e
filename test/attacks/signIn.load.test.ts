import { afterAll, beforeAll, expect, it } from 'vitest'
import { startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'

const ada = { email: 'ada@example.org', password: 'correct horse' }
let board: TestBoard
let trusting: TestBoard
beforeAll(async () => {
  ;[board, trusting] = await Promise.all([startBoard(), startBoard({ trustProxy: true })])
  for (const each of [board, trusting]) await each.client.auth.setup(ada)
  await trusting.client.auth.setSettings({ enabled: true, registrationEnabled: true })
})
afterAll(() => Promise.all([board.close(), trusting.close()]))

const login = (email: string, password: string, headers: Record<string, string> = {}, on = board) =>
  on.request('POST', '/api/auth/login', { token: null, body: { email, password }, headers })
const codeOf = ({ status, body }: Reply) => [status, body?.error?.code]

it('two hundred sign-ins with invented addresses count as ten guesses', async () => {
  const forwarded = (at: number) => ({
    'x-forwarded-for': `198.51.${at >> 8}.${at & 255}`,
    'x-real-ip': `198.51.100.${at}`,
    forwarded: `for=198.51.100.${at}`,
    'cf-connecting-ip': `198.51.100.${at}`,
    'true-client-ip': `198.51.100.${at}`,
  })
  const replies = await Promise.all(
    Array.from({ length: 200 }, (_, at) => login(`nobody${at}@example.org`, 'a guess', forwarded(at))),
  )
  expect(replies.filter(({ status }) => status === 401).length).toBe(10)
  expect(replies.filter(({ status }) => status === 429).length).toBe(190)
})

it('behind a proxy the address from the proxy counts, not those that the client sent before it; and the account in any case', async () => {
  const before = (at: number) => ({ 'x-forwarded-for': `203.0.113.${at}, 10.0.0.${at}, 198.51.100.9` })
  const replies = await Promise.all(
    Array.from({ length: 60 }, (_, at) => login(`who${at}@example.org`, 'a guess', before(at), trusting)),
  )
  expect(replies.filter(({ status }) => status === 401).length).toBe(10)
  const byAccount = await Promise.all(
    Array.from({ length: 60 }, (_, at) =>
      login('victim@example.org', 'a guess', { 'x-forwarded-for': `203.0.113.${at}` }, trusting),
    ),
  )
  expect(byAccount.filter(({ status }) => status === 401).length).toBe(10)
})

it('an existing and an unknown account are rejected with equal responses and equal work', async () => {
  const one = await startBoard({ trustProxy: true })
  await one.client.auth.setup(ada)
  const times: Record<string, number[]> = { known: [], unknown: [] }
  let peer = 0
  const words = new Set<string>()
  for (let round = 0; round < 9; round++)
    for (const [kind, email] of [
      ['known', ada.email],
      ['unknown', `nobody${round}@example.org`],
    ] as const) {
      const startedAt = performance.now()
      const { status, text, headers } = await login(email, 'a guess', { 'x-forwarded-for': `203.0.113.${++peer}` }, one)
      times[kind]!.push(performance.now() - startedAt)
      words.add(`${status} ${text} ${[...headers.keys()].sort().join()}`)
    }
  await one.close()
  const median = (all: number[]) => [...all].sort((a, b) => a - b)[4]!
  expect([...words]).toHaveLength(1)
  expect(median(times.known!) / median(times.unknown!)).toBeGreaterThan(0.4)
  expect(median(times.known!) / median(times.unknown!)).toBeLessThan(2.5)
})

const likeAda = {
  'with an invisible letter': 'a\u200bda@example.org',
  'with a joiner': 'ada\u200d@example.org',
  'with a soft hyphen': 'ada\u00ad@example.org',
  'written backwards': '\u202eada@example.org',
  'with a control character': 'ada\u0007@example.org',
  'with a tag character': 'ada\u{e0041}@example.org',
}
it.each(Object.entries(likeAda))('an address %s is invalid', async (_, email) => {
  for (const path of ['/api/auth/register', '/api/auth/login'])
    expect(
      codeOf(await board.request('POST', path, { token: null, body: { email, password: 'correct horse' } })),
      path,
    ).toEqual([400, 'VALIDATION_FAILED'])
})

it.each([
  ['Cyrillic', 'd\u043era@example.org'],
  ['wide', '\uff44ora@example.org'],
  ['with a sign above', 'dor\u00e1@example.org'],
  ['by another domain', 'dora@ex\u0430mple.org'],
  ['with a dot', 'd.ora@example.org'],
  ['with an addition', 'dora+x@example.org'],
])('a lookalike address (%s) is a different one: it accepts no invitation, and finds no account', async (_, email) => {
  const { id } = await trusting.client.projects.create({ name: 'P', path: trusting.folder('p') })
  await trusting.client.members.add({ id, email: 'dora@example.org' })
  expect(codeOf(await login(email, ada.password, { 'x-forwarded-for': '192.0.2.1' }, trusting))).toEqual([
    401,
    'INVALID_CREDENTIALS',
  ])
  const { token, user } = await trusting.client.auth.register({ email, password: 'correct horse' })
  expect([user.email, user.role]).toEqual([email, 'user'])
  expect(await trusting.as(token).projects.list()).toEqual([])
})

it('a token is accepted only in the header: not in the address, a cookie, a body or another header', async () => {
  for (const query of ['token', 'access_token', 'authorization', 'api_key', 'key'])
    expect((await board.request('GET', `/api/auth/me?${query}=${board.token}`, { token: null })).status, query).toBe(
      401,
    )
  for (const headers of [
    { cookie: `token=${board.token}; authorization=Bearer ${board.token}` },
    { 'x-api-key': board.token },
    { 'x-auth-token': board.token },
    { 'proxy-authorization': `Bearer ${board.token}` },
    { authorization: board.token },
    { authorization: `Basic ${Buffer.from(`x:${board.token}`).toString('base64')}` },
  ] as Array<Record<string, string>>)
    expect(
      (await board.request('GET', '/api/auth/me', { token: null, headers })).status,
      JSON.stringify(Object.keys(headers)),
    ).toBe(401)
})

it('no page reveals its address: responses send no referrer, and contain no part of the address', async () => {
  for (const path of ['/', '/api/docs']) {
    const { headers, text } = await board.request('GET', `${path}?token=${board.token}`, { token: null })
    expect(headers.get('referrer-policy'), path).toBe('no-referrer')
    expect(text).not.toContain(board.token)
  }
})
