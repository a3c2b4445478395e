import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { Unreachable } from '../../src/client/failures.ts'
import { send, sendJson, type CallOptions } from '../../src/client/http.ts'
import { eventually } from '../support/waiting/eventually.ts'

/** A server that responds with the bytes of the test, and records the requests. */
let server: Server
let connection: { url: string; timeoutMs: number }
let answer: (socket: Socket, count: number) => void
let sent: string[]
let connections: Set<Socket>
let opened: number

beforeAll(async () => {
  connections = new Set()
  server = createServer(socket => {
    connections.add(socket)
    opened++
    socket
      .on('close', () => connections.delete(socket))
      .on('error', () => {
        /* The client has closed the connection. */
      })
    let received = ''
    socket.on('data', data => {
      received += data.toString()
      if (!isWhole(received)) return
      sent.push(received)
      received = ''
      answer(socket, sent.length)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
})
beforeEach(async () => {
  for (const socket of connections) socket.destroy()
  await eventually('the connections are closed', () => connections.size === 0)
  sent = []
  opened = 0
  connection = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, timeoutMs: 5000 }
})
afterAll(() => {
  for (const socket of connections) socket.destroy()
  server.close()
})

/** Whether a request is complete, including its body, which can arrive separately from its head. */
function isWhole(request: string): boolean {
  const [head, body] = request.split('\r\n\r\n', 2)
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(head!)?.[1] ?? 0)
  return body !== undefined && Buffer.byteLength(body) >= length
}

const json = (text: string, more = '') =>
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n${more}\r\n${text}`
const ask = (options?: CallOptions, method = 'GET') => send(connection, method, '/', undefined, options)
const answerWith = (text: string | Buffer, end = false) => {
  answer = socket => void (end ? socket.end(text) : socket.write(text))
}
const refusal = async (text: string, end = false) => {
  answerWith(text, end)
  const error = await ask().catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(Unreachable)
  return ((error as Error).cause as NodeJS.ErrnoException).code
}

test('a message without a body ends with its head', async () => {
  answerWith('HTTP/1.1 204 No Content\r\n\r\n')
  expect(await ask({}, 'DELETE')).toMatchObject({ status: 204, bytes: Buffer.alloc(0) })
  answerWith('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n')
  expect((await ask({}, 'HEAD')).status).toBe(200)
  expect(opened).toBe(1)
})

test('a request sends its host, its length and its user agent', async () => {
  answerWith(json('{"data":{}}'))
  await sendJson(
    { ...connection, url: `${connection.url}/below`, token: 'svc_x' },
    'POST',
    '/api?q=1',
    { name: 'schön' },
    { ifMatch: '"3"', idempotencyKey: 'once' },
  )
  expect(sent[0]).toMatch(/^POST \/below\/api\?q=1 HTTP\/1.1\r\n[^]*\r\nHost: 127\.0\.0\.1:\d+\r\n/)
  for (const line of [
    'authorization: Bearer svc_x',
    'content-type: application/json',
    'Content-Length: 17',
    'if-match: "3"',
    'idempotency-key: once',
  ])
    expect(sent[0]).toContain(`\r\n${line}\r\n`)
  expect(sent[0]).toMatch(/\r\n\r\n\{"name":"schön"\}$/)
  await send(connection, 'POST', '/')
  expect(sent[1]).toContain('\r\nContent-Length: 0\r\n')
})

test('a header with a line break or an invalid character is rejected before any byte is sent', async () => {
  for (const idempotencyKey of ['a\r\nx: 1', 'a\nb', '€', 'a\0'])
    await expect(ask({ idempotencyKey })).rejects.toThrow('Invalid character in header content')
  expect(opened).toBe(0)
})

test('a connection is reused, unless the server closes it or sends more than one response', async () => {
  answerWith(json('{}'))
  await ask()
  await ask()
  expect(opened).toBe(1)
  answerWith(json('{}', 'Connection: close\r\n'))
  await ask()
  answerWith(`${json('{}')}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`)
  await ask()
  await ask()
  expect(opened).toBe(3)
})

test('an idle connection that was closed is not reused', async () => {
  answerWith(json('{}'))
  await ask()
  for (const socket of connections) socket.end()
  await eventually('the connections are closed', () => connections.size === 0)
  await ask()
  expect(opened).toBe(2)
})

test('concurrent requests use one connection each', async () => {
  answer = (_, count) => {
    if (count === 3) for (const socket of connections) socket.write(json('{"data":1}'))
  }
  expect(await Promise.all([1, 2, 3].map(() => sendJson(connection, 'GET', '/')))).toEqual([1, 1, 1])
  expect(opened).toBe(3)
})

test('an invalid or truncated response is reported as an unreachable board', async () => {
  expect(await refusal('SSH-2.0-OpenSSH_9.6\r\n\r\n')).toBe('HPE_INVALID_CONSTANT')
  expect(await refusal('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc')).toBe(
    'HPE_UNEXPECTED_CONTENT_LENGTH',
  )
  expect(await refusal('', true)).toBe('ECONNRESET')
  expect(await refusal('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc', true)).toBe('ECONNRESET')
  expect(await refusal('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc', true)).toBe('ECONNRESET')
})

test('silence ends on timeout, and a signal ends it immediately with its reason', async () => {
  answer = () => {
    /* Sends nothing. */
  }
  connection.timeoutMs = 100
  expect(((await ask().catch((error: unknown) => error)) as Error).cause).toMatchObject({ code: 'ETIMEDOUT' })
  connection.timeoutMs = 0
  const reason = new Error('enough')
  await expect(ask({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  const stop = new AbortController()
  const asked = ask({ signal: stop.signal })
  await eventually('the request has come', () => sent.length === 2)
  stop.abort(reason)
  await expect(asked).rejects.toBe(reason)
  await eventually('the connections are closed', () => connections.size === 0)
})
