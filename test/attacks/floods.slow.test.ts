import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startSingleSignOn } from '../support/identity/singleSignOn.ts'

const ada = { email: 'ada@example.org', password: 'correct horse' }
let board: TestBoard
beforeAll(async () => {
  board = await startBoard({ trustProxy: true })
  await board.client.auth.setup(ada)
})
afterAll(() => board.close())

let peers = 0
/** Signs in from a separate address each time, so that no attempt is rejected for guessing. */
const logIn = (body: unknown, raw?: string) =>
  board.request('POST', '/api/auth/login', {
    token: null,
    body,
    raw: raw ?? JSON.stringify(body),
    headers: { 'x-forwarded-for': `203.0.${++peers >> 8}.${peers & 255}` },
  })

/** Starts a request without the end of its body. */
function beginBody(path: string, length: number, sent: string): { socket: Socket; answer: () => string } {
  let answer = ''
  const socket = connect(Number(new URL(board.url).port), '127.0.0.1')
  socket
    .setEncoding('latin1')
    .on('data', chunk => {
      answer += chunk
    })
    .on('error', () => {
      /* The server can drop it. */
    })
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${sent}`,
  )
  return { socket, answer: () => answer }
}

it('a public route accepts bodies of 16 KiB, and any other one of 1 MiB', async () => {
  const long = (bytes: number) => JSON.stringify({ ...ada, more: 'x'.repeat(bytes) })
  expect((await logIn(undefined, long(15_000))).status).toBe(400)
  const refused = await logIn(undefined, long(16_384))
  expect([refused.status, refused.body.error.message]).toEqual([413, 'The maximum body size is 16384 bytes.'])
  expect((await board.request('POST', '/api/organizations', { raw: long(1_000_000) })).status).toBe(400)
  expect((await board.request('POST', '/api/organizations', { raw: long(1_048_576) })).status).toBe(413)
})

it('concurrent bodies of unauthenticated clients are limited to 8 MiB, others must retry later, and a sign-in succeeds', async () => {
  const begun = Array.from({ length: 700 }, () => beginBody('/api/auth/login', 16_384, 'x'.repeat(15_000)))
  const refused = () => begun.filter(({ answer }) => answer().startsWith('HTTP/1.1 429'))
  await eventually('refusals', () => refused().length >= 100)
  expect(refused()[0]!.answer()).toMatch(/^retry-after: 2\r$/im)
  expect((await logIn(ada)).status).toBe(200)
  for (const { socket } of begun) socket.destroy()
  await eventually('room', async () => (await logIn({ ...ada, more: 'x'.repeat(15_000) })).status === 400)
})

it('a body that arrives byte by byte is read like any other', async () => {
  const { id } = await board.client.projects.create({ name: 'P', path: board.folder('p') })
  const prompt = `${'x'.repeat(3000)}\u00e4\u{1f600}`
  const pieces = [...Buffer.from(JSON.stringify({ projectId: id, title: 'In pieces', prompt }))]
  const answer = await new Promise<string>(resolve => {
    let text = ''
    const socket = connect(Number(new URL(board.url).port), '127.0.0.1')
    socket
      .setEncoding('utf8')
      .on('data', chunk => {
        text += chunk
      })
      .on('close', () => resolve(text))
    socket.write(
      `POST /api/cards HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${board.token}\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    )
    for (const byte of pieces)
      socket.write(Buffer.concat([Buffer.from('1\r\n'), Buffer.from([byte]), Buffer.from('\r\n')]))
    socket.write('0\r\n\r\n')
  })
  expect(answer).toMatch(/^HTTP\/1\.1 201 /)
  const [card] = await board.client.cards.list({ projectId: id })
  expect((await board.client.cards.get({ projectId: id, cardId: card!.id })).prompt).toBe(prompt)
})

it.each(['/api/openapi.json', '/api/docs'])('%s is sent once to a client that caches it', async path => {
  const first = await board.request('GET', path, { token: null })
  const etag = first.headers.get('etag')!
  expect([etag, first.headers.get('cache-control')]).toEqual([expect.stringMatching(/^"[\w-]{43}"$/), 'no-cache'])
  for (const header of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const again = await board.request('GET', path, { token: null, headers: { 'if-none-match': header } })
    expect([again.status, again.text, again.headers.get('etag')], header).toEqual([304, '', etag])
  }
  const other = await board.request('GET', path, { token: null, headers: { 'if-none-match': '"other"' } })
  expect([other.status, other.text]).toEqual([200, first.text])
  const head = await board.request('HEAD', path, { token: null })
  expect([head.status, head.text, head.headers.get('content-length')]).toEqual([
    200,
    '',
    String(Buffer.byteLength(first.text)),
  ])
})

it('sign-ins at the identity provider that strangers start are stored in their browsers, and displace none', async () => {
  const sso = await startSingleSignOn()
  try {
    await sso.configure()
    sso.provider.people.set('ada', { email: ada.email, email_verified: true })
    for (let begun = 0; begun < 50; begun++)
      expect((await sso.board.request('GET', '/api/oidc/login', { token: null })).status).toBe(302)
    expect(await sso.board.server.app.db.get('SELECT count(*) AS kept FROM tickets')).toEqual({ kept: 0 })
    expect((await sso.tokenOf('ada')).user.email).toBe(ada.email)
  } finally {
    await sso.close()
  }
})
