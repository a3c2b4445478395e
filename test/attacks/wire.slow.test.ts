import { connect } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let templateId: string
beforeAll(async () => {
  board = await startBoard()
  templateId = (await board.client.templates.create({ name: 'Kept', columns: [] })).id
})
afterAll(() => board.close())

/** Sends bytes verbatim, and returns everything that the server sends until it closes the connection or pauses. */
const exchange = (bytes: string): Promise<string> =>
  new Promise(resolve => {
    const socket = connect(Number(new URL(board.url).port), '127.0.0.1')
    let answer = ''
    const finish = () => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(400, finish)
    socket
      .setEncoding('latin1')
      .on('data', chunk => {
        answer += chunk
      })
      .on('error', () => {
        /* The server can drop it. */
      })
      .on('close', finish)
    socket.write(bytes, 'latin1')
  })
const statuses = (answer: string) => [...answer.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status))
const isKept = async () => (await board.client.templates.list()).some(({ id }) => id === templateId)

/** A request within another's body: a server that misreads the outer one deletes the template. */
const inner = () =>
  `DELETE /api/board-templates/${templateId} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${board.token}\r\n\r\n`
const outer = (headers: string, body: string) =>
  `POST /api/auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}\r\n\r\n${body}`

it.each<[string, () => string]>([
  [
    'a length and chunks',
    () => outer(`Content-Length: ${5 + inner().length}\r\nTransfer-Encoding: chunked`, `0\r\n\r\n${inner()}`),
  ],
  ['chunks and a length', () => outer(`Transfer-Encoding: chunked\r\nContent-Length: 4`, `0\r\n\r\n${inner()}`)],
  [
    'chunks named twice',
    () => outer('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity', `0\r\n\r\n${inner()}`),
  ],
  ['chunks that are not the last coding', () => outer('Transfer-Encoding: chunked, identity', `0\r\n\r\n${inner()}`)],
  ['an unknown coding', () => outer('Transfer-Encoding: xchunked', `0\r\n\r\n${inner()}`)],
  ['a coding behind a vertical tab', () => outer('Transfer-Encoding: \u000bchunked', `0\r\n\r\n${inner()}`)],
  ['a blank before the colon', () => outer('Transfer-Encoding : chunked', `0\r\n\r\n${inner()}`)],
  ['a folded header', () => outer('Transfer-Encoding:\r\n chunked', `0\r\n\r\n${inner()}`)],
  ['a line that ends with LF alone', () => outer('X: y\nTransfer-Encoding: chunked', `0\r\n\r\n${inner()}`)],
  ['a line that ends with CR alone', () => outer('X: y\rTransfer-Encoding: chunked', `0\r\n\r\n${inner()}`)],
  ['two lengths', () => outer(`Content-Length: 0\r\nContent-Length: ${inner().length}`, inner())],
  ['a list of lengths', () => outer(`Content-Length: 0, ${inner().length}`, inner())],
  ['a length with a sign', () => outer('Content-Length: +0', inner())],
  ['a length in hexadecimal', () => outer('Content-Length: 0x0', inner())],
  ['a chunk whose size overflows', () => outer('Transfer-Encoding: chunked', `10000000000000000\r\n${inner()}`)],
  ['a chunk whose size has a sign', () => outer('Transfer-Encoding: chunked', `-1\r\n${inner()}`)],
  ['a chunk without its end', () => outer('Transfer-Encoding: chunked', `2\r\n{}XX0\r\n\r\n${inner()}`)],
])('a request within another one is not executed with %s', async (_, bytes) => {
  const answer = await exchange(bytes())
  expect(statuses(answer), answer).toEqual([400])
  expect(answer).toMatch(/^connection: close/im)
  expect(await isKept()).toBe(true)
})

it('the inner request works when it is sent alone', async () => {
  const { id } = await board.client.templates.create({ name: 'Gone', columns: [] })
  expect(statuses(await exchange(inner().replace(templateId, id)))).toEqual([204])
})

it('an unexpected body is not a second request, not even on the same connection', async () => {
  const get = `GET /api/health HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${inner().length}\r\n\r\n${inner()}`
  expect(statuses(await exchange(get))).toEqual([200])
  expect(await isKept()).toBe(true)
})

it('bytes after a body that was too large are read for a while, and never executed', async () => {
  const answer = await exchange(`${outer('Content-Length: 1048577', 'x'.repeat(1_048_577))}${inner()}`)
  expect(statuses(answer)).toEqual([413])
  expect(answer).toMatch(/^connection: close/im)
  expect(await isKept()).toBe(true)
})

it('a flood of headers is rejected without being buffered', async () => {
  for (const headers of ['X: y\r\n'.repeat(50_000), `X: ${'y'.repeat(1_000_000)}\r\n`, `${'y'.repeat(100_000)}: x\r\n`])
    expect(statuses(await exchange(`GET /api/health HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`))).toEqual([431])
})

it('headers after thousands of others are read, or the request is rejected: none is ignored', async () => {
  const many = Array.from({ length: 1990 }, (_, at) => `X-${at}: 1\r\n`).join('')
  expect(
    statuses(
      await exchange(`GET /api/health HTTP/1.1\r\nHost: localhost\r\n${many}Origin: https://evil.example\r\n\r\n`),
    )[0],
  ).toBeGreaterThanOrEqual(400)
  const short = 'a:\r\n'.repeat(2500)
  expect(
    statuses(
      await exchange(`GET /api/health HTTP/1.1\r\nHost: localhost\r\n${short}Origin: https://evil.example\r\n\r\n`),
    )[0],
  ).toBeGreaterThanOrEqual(400)
})

const withToken = (line: string, ...more: string[]) =>
  [line, 'Host: localhost', `Authorization: Bearer ${board.token}`, 'Connection: close', ...more, '', ''].join('\r\n')

it('headers and fields that override the method have no effect', async () => {
  const path = `/api/board-templates/${templateId}`
  for (const name of ['X-HTTP-Method-Override', 'X-Method-Override', 'X-HTTP-Method', '_method'])
    expect(
      statuses(await exchange(withToken(`POST ${path} HTTP/1.1`, `${name}: DELETE`, 'Content-Length: 0'))),
      name,
    ).toEqual([405])
  for (const query of ['_method=DELETE', 'method=delete', 'X-HTTP-Method-Override=DELETE'])
    expect(statuses(await exchange(withToken(`POST ${path}?${query} HTTP/1.1`, 'Content-Length: 0'))), query).toEqual([
      405,
    ])
  for (const header of ['X-Original-URL', 'X-Rewrite-URL', 'X-Forwarded-Prefix'])
    expect(statuses(await exchange(withToken('GET /api/nothing HTTP/1.1', `${header}: /api/auth/me`))), header).toEqual(
      [404],
    )
  expect(await isKept()).toBe(true)
})

it('a path matches one row or none, in any encoding', async () => {
  expect(statuses(await exchange(withToken('GET /api/auth/me HTTP/1.1')))).toEqual([200])
  for (const path of [
    '//api/auth/me',
    '/api//auth/me',
    '/api/auth//me',
    '/API/auth/me',
    '/api/Auth/me',
    '/api/auth/ME',
    '/api/./auth/me',
    '/api/x/../auth/me',
    '/api/../api/auth/me',
    '/api/%2e%2e/api/auth/me',
    '/api/auth/%2e/me',
    '/api%2fauth%2fme',
    '/api/auth%2fme',
    '/api/auth/me%00',
    '/api/auth/me%20',
    '/api/auth/me.',
    '/api/auth/me;x=1',
    '/api/auth/me.json',
    '/api\\auth\\me',
    '/./api/auth/me',
    '/api/auth/me%2f',
    '/api/auth/me%3f',
    '/api/external/../auth/me',
    '/api/health/..%2fauth/me',
    'api/auth/me',
  ])
    expect([400, 404], path).toContain(statuses(await exchange(withToken(`GET ${path} HTTP/1.1`)))[0])
})

it('a path in another encoding requires the same permissions', async () => {
  for (const path of [
    '/api/auth/me/',
    '/api/auth/m%65',
    '/api/%61uth/me',
    '/%61pi/auth/me',
    'http://localhost/api/auth/me',
    'http://evil.example/api/auth/me',
  ])
    expect([400, 401, 403, 404], path).toContain(
      statuses(await exchange(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`))[0],
    )
})

/** The head and the error of a response in the usual format. */
function failureOf(answer: string): { status: number; code: string; requestId: string | undefined } {
  const [head, body] = answer.split('\r\n\r\n') as [string, string]
  const { error } = JSON.parse(body) as { error: { code: string; message: string } }
  expect(error.message).toMatch(/^[A-Z].*\.$/)
  expect(head).toMatch(/^content-type: application\/json; charset=utf-8$/im)
  expect(head).toMatch(/^connection: close$/im)
  return {
    status: statuses(answer)[0]!,
    code: error.code,
    requestId: /^x-request-id: (\S{3,})$/im.exec(head)?.[1],
  }
}
const get = (headers: string, rest = 'Connection: close\r\n') => `GET /api/health HTTP/1.1\r\n${headers}${rest}\r\n`

it.each<[string, () => string, number, string]>([
  ['that is not HTTP', () => 'nonsense\r\n\r\n', 400, 'BAD_REQUEST'],
  ['with a folded header', () => get('Host: localhost\r\nX: a\r\n b\r\n'), 400, 'BAD_REQUEST'],
  ['with two lengths', () => outer('Content-Length: 0\r\nContent-Length: 5', 'xxxxx'), 400, 'BAD_REQUEST'],
  [
    'with a length and chunks',
    () => outer('Content-Length: 5\r\nTransfer-Encoding: chunked', '0\r\n\r\n'),
    400,
    'BAD_REQUEST',
  ],
  [
    'with a flood of headers',
    () => get('Host: localhost\r\n', `X: ${'y'.repeat(20_000)}\r\n`),
    431,
    'HEADERS_TOO_LARGE',
  ],
  ['with an unknown expectation', () => get('Host: localhost\r\nExpect: miracles\r\n'), 417, 'EXPECTATION_FAILED'],
  ['without Host', () => get(''), 400, 'BAD_REQUEST'],
  ['with two Hosts', () => get('Host: localhost\r\nHost: evil.example\r\n'), 400, 'BAD_REQUEST'],
  ['with one Host twice', () => get('Host: localhost\r\nhost: localhost\r\n'), 400, 'BAD_REQUEST'],
  [
    'for a socket with two Hosts',
    () =>
      `GET /api/ws HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    400,
    'BAD_REQUEST',
  ],
  [
    'for a socket elsewhere',
    () => `GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    404,
    'NOT_FOUND',
  ],
])('a request %s is rejected in the usual format, with an id that the log has', async (_, bytes, status, code) => {
  const failure = failureOf(await exchange(bytes()))
  expect(failure).toEqual({ status, code, requestId: expect.any(String) })
})

it('an incomplete head gets a response in the usual format', { timeout: 60_000 }, async () => {
  const answer = await new Promise<string>(resolve => {
    let text = ''
    const socket = connect(Number(new URL(board.url).port), '127.0.0.1')
    socket
      .setEncoding('latin1')
      .on('data', chunk => {
        text += chunk
      })
      .on('close', () => resolve(text))
    socket.write('GET /api/health HTTP/1.1\r\nHost: loc')
  })
  expect(failureOf(answer)).toEqual({ status: 408, code: 'REQUEST_TIMEOUT', requestId: expect.any(String) })
})
