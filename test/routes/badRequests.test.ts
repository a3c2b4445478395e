import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { exampleOf, requestOf, rows, sendsBody, tokenFor, type Row } from '../support/contract/examples.ts'
import { type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { seed, startSlotlessBoard, type Seed } from '../support/contract/seed.ts'

let board: TestBoard
let from: Seed
beforeAll(async () => {
  board = await startSlotlessBoard()
  from = await seed(board)
})
afterAll(() => board.close())

/** Routes with a JSON body. Signed bodies are bytes (test/routes/forgeDeliveries.slow.test.ts), and OAuth has its own format. */
const withBody = rows.filter(
  ({ route }) => sendsBody(route) && route.transfer !== 'upload' && !route.signed && !route.oauth,
)
const send = (row: Row, raw: string | Uint8Array, headers: Record<string, string> = {}) =>
  board.request(row.route.method, requestOf(row.route, exampleOf(row, from)).path, {
    token: tokenFor(row, from),
    raw,
    headers,
  })
const codeOf = ({ status, body }: { status: number; body: any }) => [status, body?.error?.code]

/** Writes bytes verbatim and waits for the head of a response, or for the end of the connection. */
async function write(...pieces: Array<string | Buffer>): Promise<string> {
  const { hostname, port } = new URL(board.url)
  const socket = connect(Number(port), hostname)
  const chunks: Buffer[] = []
  let isOver = false
  socket
    .on('data', chunk => chunks.push(chunk))
    .on('close', () => {
      isOver = true
    })
    .on('error', () => {
      isOver = true
    })
  for (const piece of pieces) socket.write(piece)
  await eventually('an answer or the end of the connection', () => isOver || Buffer.concat(chunks).includes('\r\n\r\n'))
  socket.destroy()
  return Buffer.concat(chunks).toString('latin1')
}
/** 0 if the server closed the connection without a response. */
const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? 0)

describe('a body', () => {
  it.each(withBody)('of $name is rejected if it is too large, broken, not UTF-8 or not JSON', async row => {
    const large = `{"title":"${'x'.repeat(2 * 1024 * 1024)}"}`
    expect(codeOf(await send(row, large))).toEqual([413, 'BODY_TOO_LARGE'])
    for (const broken of ['{', '{"a":1,}', 'undefined', ' '])
      expect(codeOf(await send(row, broken)), broken).toEqual([400, 'INVALID_JSON'])
    for (const bytes of [
      [0x22, 0xff, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
      [0xff, 0xfe, 0x7b, 0, 0x7d, 0],
    ])
      expect(codeOf(await send(row, Uint8Array.from(bytes)))).toEqual([400, 'INVALID_JSON'])
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonp',
      'text/json',
      'application/xml',
    ])
      expect(codeOf(await send(row, '{}', { 'content-type': type })), type).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE'])
  })

  const without = withBody.filter(({ route }) => !route.input)
  it.each(without)('of $name is rejected with the names of unknown fields', async row => {
    for (const raw of ['{"unknown":1}', '[]', 'null']) {
      const refused = await send(row, raw, { 'content-type': 'application/json' })
      expect([raw, ...codeOf(refused)]).toEqual([raw, 400, 'VALIDATION_FAILED'])
    }
    const named = await send(row, '{"unknown":1}', { 'content-type': 'application/json' })
    expect(named.body.error.details).toMatchObject([{ path: 'unknown' }])
  })

  it('can have 1 MiB and not a byte more, with or without a Content-Length', async () => {
    const bytes = (size: number) => `{"name":"x","columns":[]${' '.repeat(size - 25)}}`
    expect((await board.request('POST', '/api/board-templates', { raw: bytes(1_048_576) })).status).toBe(201)
    expect(codeOf(await board.request('POST', '/api/board-templates', { raw: bytes(1_048_577) }))).toEqual([
      413,
      'BODY_TOO_LARGE',
    ])
    const head = `POST /api/board-templates HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${board.token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
    const chunked = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`
    expect(statusOf(await write(head, chunked(bytes(1_048_576))))).toBe(201)
    expect(statusOf(await write(head, chunked(bytes(1_048_577))))).toBe(413)
    expect(statusOf(await write(head, ...Array.from({ length: 64 }, () => `10000\r\n${'x'.repeat(65_536)}\r\n`)))).toBe(
      413,
    )
  })

  it('can be empty or as deep as the parser allows, and a list is rejected as not an object', async () => {
    for (const raw of [
      `${'['.repeat(200_000)}${']'.repeat(200_000)}`,
      `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`,
      '[]',
      '[{"name":"x","columns":[]}]',
      '"x"',
      '1',
      'null',
      'true',
    ])
      expect(codeOf(await board.request('POST', '/api/board-templates', { raw }))).toEqual([400, 'VALIDATION_FAILED'])
    expect(
      codeOf(
        await board.request('PUT', `/api/projects/${from.projectId}/panel-states`, {
          raw: `{"${from.cardId}":${'{"a":'.repeat(40)}1${'}'.repeat(40)}}`,
        }),
      ),
    ).toEqual([400, 'VALIDATION_FAILED'])
    expect((await board.request('PATCH', `/api/projects/${from.projectId}`, { raw: '' })).status).toBe(200)
  })

  it('that is interrupted leaves nothing behind', async () => {
    const before = (await board.client.templates.list()).length
    const { hostname, port } = new URL(board.url)
    for (let i = 0; i < 20; i++) {
      const socket = connect(Number(port), hostname)
      await new Promise(resolve =>
        socket.write(
          `POST /api/board-templates HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${board.token}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"name":"x","columns":[]`,
          resolve,
        ),
      )
      socket.destroy()
    }
    expect((await board.client.templates.list()).length).toBe(before)
  })

  it('is not read if the route has no input', async () => {
    for (const method of ['GET', 'DELETE'] as const)
      expect(
        statusOf(
          await write(
            `${method} /api/projects/999999 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${board.token}\r\nContent-Length: 100000000\r\n\r\n`,
          ),
        ),
      ).toBe(404)
    expect(
      statusOf(
        await write(
          'POST /api/projects HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000000\r\n\r\n',
        ),
      ),
    ).toBe(401)
  })
})

/** Every text in a value: its path, and the value with another text in its place. */
function* texts(
  value: unknown,
  replace: (text: string) => string,
  path: string[] = [],
): Generator<{ path: string; changed: unknown }> {
  if (typeof value === 'string') yield { path: path.join('.'), changed: replace(value) }
  if (value === null || typeof value !== 'object') return
  for (const [key, child] of Object.entries(value))
    for (const { path: found, changed } of texts(child, replace, [...path, key])) {
      yield {
        path: found,
        changed: Array.isArray(value)
          ? value.map((each, at) => (String(at) === key ? changed : each))
          : { ...value, [key]: changed },
      }
    }
}

describe('a text', () => {
  // The handler of a foreign protocol checks fields that the protocol allows.
  const named = withBody.filter(
    ({ route }) => route.input && 'entries' in route.input && route.input.type !== 'loose_object',
  )
  const placesOf = (row: Row, replace: (text: string) => string) => [
    ...texts(requestOf(row.route, exampleOf(row, from)).options.body, replace),
  ]

  it.each(named)('of $name with NUL or a lone surrogate is rejected by its name', async row => {
    for (const odd of ['\0', '\ud800', 'x\udc00'])
      for (const { path, changed } of placesOf(row, text => text + odd)) {
        const { status, body } = await send(row, JSON.stringify(changed))
        expect(
          [status, body.error.code, body.error.details.map((detail: { path: string }) => detail.path)],
          path,
        ).toEqual([
          400,
          row.route.checkedBy === 'rules' ? expect.stringMatching(/_INVALID$/) : 'VALIDATION_FAILED',
          [path],
        ])
      }
  })

  it('in a query also', async () => {
    for (const row of rows.filter(({ route }) => !sendsBody(route) && route.input)) {
      const { path } = requestOf(row.route, exampleOf(row, from))
      for (const [name] of new URLSearchParams(path.split('?')[1])) {
        const query = new URLSearchParams(path.split('?')[1])
        query.set(name, '\0')
        const reply = await board.request(row.route.method, `${path.split('?')[0]}?${query}`, {
          token: tokenFor(row, from),
        })
        expect(
          [reply.status, reply.body.error.details.map((detail: { path: string }) => detail.path)],
          `${row.name} ${name}`,
        ).toEqual([400, [name]])
      }
    }
  })
})

describe('a value', () => {
  it('of a type other than number or boolean never reaches the database as one', async () => {
    for (const value of [true, false, 'true', 1, 0, [], {}, null]) {
      const card = await board.request('POST', '/api/cards', {
        body: {
          projectId: from.projectId,
          title: value,
          prompt: value,
          columnId: value,
          useWorktree: value,
          autoMode: value,
          deferred: value,
          labels: value,
          groupId: value,
        },
      })
      expect(codeOf(card)).toEqual([400, 'VALIDATION_FAILED'])
    }
    const moved = await board.request('PATCH', `/api/projects/${from.projectId}/cards/${from.cardId}/move`, {
      body: { columnId: true, position: false },
    })
    expect(moved.body.error.details.map(({ path }: { path: string }) => path).sort()).toEqual(['columnId', 'position'])
  })

  it('is never repeated by the message that rejects it', async () => {
    for (const body of [
      { email: 'a@b', password: 'hunter2-hunter2', extra: 'secret-value' },
      { email: 'secret-value', password: 'x' },
      { email: ['secret-value'], password: { a: 'secret-value' } },
    ]) {
      const { status, text } = await board.request('POST', '/api/auth/setup', { token: null, body })
      expect([status, text.includes('secret-value'), text.includes('hunter2')]).toEqual([400, false, false])
    }
  })

  it('is returned verbatim: any Unicode except NUL and lone surrogates', async () => {
    const odd = 'é e\u0301 \u202e‮ 😀 \ufeff\uffff\u0001\u007f\u2028 <script> \' " \\ %00 $1'
    const { id } = await board.client.cards.create({
      projectId: from.projectId,
      title: odd,
      prompt: odd,
      labels: [odd],
      groupId: odd,
    })
    expect(await board.client.cards.getFlat({ id })).toMatchObject({
      title: odd,
      prompt: odd,
      labels: [odd],
      groupId: odd,
    })
    const { items } = (
      await board.request('GET', `/api/external/projects/${from.projectId}/cards?cursor=${Number(id) - 1}`, {
        token: from.apiKey,
      })
    ).body.data
    expect(items[0]).toMatchObject({ title: odd, prompt: odd, labels: [odd], groupId: odd })
  })
})

describe('a request line and its headers', () => {
  const lines = (start: string, ...headers: string[]) => [start, 'Host: localhost', ...headers, '', ''].join('\r\n')
  const odd: Record<string, [string | Buffer, number[]]> = {
    'an endless path': [lines(`GET /${'x'.repeat(30_000)} HTTP/1.1`), [414, 431]],
    'an endless query': [lines(`GET /api/health?${'x'.repeat(30_000)} HTTP/1.1`), [414, 431]],
    'an endless header': [lines('GET /api/health HTTP/1.1', `X-Long: ${'x'.repeat(100_000)}`), [431]],
    'thousands of headers': [
      lines('GET /api/health HTTP/1.1', ...Array.from({ length: 1500 }, (_, i) => `X-${i}: 1`)),
      [200, 431],
    ],
    'a broken escape': [lines('GET /api/projects/%zz HTTP/1.1', 'Authorization: Bearer x'), [401]],
    'a broken escape in an unknown path': [lines('GET /%e0%a4 HTTP/1.1'), [404]],
    'a path that is not UTF-8': [
      Buffer.concat([
        Buffer.from('GET /api/'),
        Buffer.from([0xff, 0xfe]),
        Buffer.from(' HTTP/1.1\r\nHost: localhost\r\n\r\n'),
      ]),
      [400, 404],
    ],
    'a whole URL': [lines('GET http://localhost/api/health HTTP/1.1'), [200, 404]],
    'a foreign URL': [lines('GET http://evil.example/api/health HTTP/1.1'), [200, 403, 404]],
    'an invalid URL': [lines('GET http://:x/ HTTP/1.1'), [200, 400, 404]],
    'an asterisk': [lines('OPTIONS * HTTP/1.1'), [400, 404, 405]],
    backslashes: [lines('GET \\api\\health HTTP/1.1'), [400, 404]],
    'no path': [lines('GET ?a=b HTTP/1.1'), [400, 404]],
    'a fragment': [lines('GET /api/health#x HTTP/1.1'), [200, 400, 404]],
    dots: [lines('GET /api/../../etc/passwd HTTP/1.1'), [404]],
    'double slashes': [lines('GET //evil.example/api HTTP/1.1'), [404]],
    'an unknown method': [lines('BREW /api/health HTTP/1.1'), [400]],
    'a method in lowercase': [lines('get /api/health HTTP/1.1'), [400]],
    TRACE: [lines('TRACE /api/health HTTP/1.1'), [405]],
    CONNECT: ['CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n', [0, 400, 404, 405]],
    'another version': [lines('GET /api/health HTTP/9.9'), [400, 505]],
    'no Host': ['GET /api/health HTTP/1.1\r\n\r\n', [400]],
    'no Host in HTTP/1.0': ['GET /api/auth/me HTTP/1.0\r\n\r\n', [403]],
    'two Hosts': [lines('GET /api/health HTTP/1.1', 'Host: evil.example'), [200, 400, 403]],
    'a negative length': [lines('POST /api/auth/login HTTP/1.1', 'Content-Length: -1'), [400]],
    'two lengths': [lines('POST /api/auth/login HTTP/1.1', 'Content-Length: 2', 'Content-Length: 3'), [400]],
    'a length and chunks': [
      `${lines('POST /api/auth/login HTTP/1.1', 'Content-Length: 2', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
      [400],
    ],
    'invalid chunks': [
      `${lines('POST /api/auth/login HTTP/1.1', 'Content-Type: application/json', 'Transfer-Encoding: chunked')}zz\r\n`,
      [400],
    ],
    'an unknown expectation': [
      lines('POST /api/auth/login HTTP/1.1', 'Expect: miracles', 'Content-Length: 2'),
      [415, 417],
    ],
    'NUL in a header': [lines('GET /api/health HTTP/1.1', 'X-A: a\0b'), [400]],
    'a header without a name': [lines('GET /api/health HTTP/1.1', ': x'), [400]],
    'an upgrade elsewhere': [
      lines(
        'GET /api/health HTTP/1.1',
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
      ),
      [200, 400, 404],
    ],
    'an upgrade to something else': [
      lines('GET /api/ws HTTP/1.1', 'Connection: Upgrade', 'Upgrade: h2c'),
      [400, 404, 426],
    ],
    TLS: [Buffer.from('16030100c8010000c403037d', 'hex'), [400]],
    'HTTP/2': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [0, 400, 404, 505]],
    'only noise': [Buffer.from(Array.from({ length: 256 }, (_, i) => i)), [400]],
  }
  it.each(Object.entries(odd))('with %s are rejected or served, never with a 5xx', async (_, [bytes, statuses]) => {
    const answer = await write(bytes)
    expect(statuses, answer.slice(0, 300)).toContain(statusOf(answer))
    expect((await board.request('GET', '/api/ready', { token: null })).status).toBe(200)
  })
})
