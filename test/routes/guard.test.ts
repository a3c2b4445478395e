import { request as send } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

/** Sends headers verbatim, which `fetch` does not allow. */
const get = (
  board: TestBoard,
  headers: Record<string, string>,
  path = '/api/settings/auth-status',
): Promise<{ status: number; code?: string }> =>
  new Promise((resolve, reject) => {
    const { port } = new URL(board.url)
    send({ host: '127.0.0.1', port, path, headers, setHost: false }, reply => {
      let text = ''
      reply
        .setEncoding('utf8')
        .on('data', chunk => {
          text += chunk
        })
        .on('end', () =>
          resolve({ status: reply.statusCode!, code: (JSON.parse(text) as { error?: { code: string } }).error?.code }),
        )
    })
      .on('error', reject)
      .end()
  })
/** Sends a request in HTTP/1.0, and returns the complete response. */
const probe = (board: TestBoard, path: string, host?: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(Number(new URL(board.url).port), '127.0.0.1')
      .setEncoding('utf8')
      .on('data', chunk => (text += chunk))
      .on('close', () => resolve(text))
      .on('error', reject)
    socket.write(`GET ${path} HTTP/1.0\r\n${host === undefined ? '' : `Host: ${host}\r\n`}\r\n`)
  })
const refusedHost = { status: 403, code: 'HOST_NOT_ALLOWED' }
const refusedOrigin = { status: 403, code: 'ORIGIN_NOT_ALLOWED' }
const answered = { status: 200, code: undefined }

let board: TestBoard
let port: string
beforeAll(async () => {
  board = await startBoard({
    allowHosts: ['Board.Lan', 'box.lan:8080', '10.0.0.5'],
    publicUrl: 'https://board.example.org/team',
  })
  port = new URL(board.url).port
})
afterAll(() => board.close())

describe('Host', () => {
  it('can be a loopback name or address, an allowed name or the public one, with or without a port', async () => {
    for (const name of [
      'localhost',
      'LocalHost',
      'app.localhost',
      '127.0.0.1',
      '127.9.9.9',
      '[::1]',
      'board.lan',
      'BOARD.LAN',
      'box.lan',
      '10.0.0.5',
      'board.example.org',
    ])
      for (const host of [`${name}:${port}`, name, `${name}:8080`])
        expect(await get(board, { host }), host).toEqual(answered)
  })

  it('is rejected if it is foreign or a lookalike', async () => {
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      'localhost.evil.example',
      'notlocalhost',
      '127.0.0.1.evil.example',
      '127.0.0.1.nip.io',
      'xboard.lan',
      'board.lan.evil',
      '192.168.1.1',
      '0.0.0.0',
      '[::]',
      '[::1',
      'localhost:',
      `localhost:${port}:1`,
      'user@localhost',
      'localhost/',
      'localhost, evil.example',
      '127.1',
      '2130706433',
      'localhost.',
    ])
      expect(await get(board, { host }), host).toEqual(refusedHost)
  })

  it('is checked before anything else, on every path', async () => {
    for (const path of ['/', '/api/auth/me', '/api/nothing', '/api/external/projects/1/cards'])
      expect(await get(board, { host: 'evil.example' }, path), path).toEqual(refusedHost)
  })

  it('stays rejected on repetition, also after allowed ones', async () => {
    for (let i = 0; i < 3; i++) {
      expect(await get(board, { host: `localhost:${port}` })).toEqual(answered)
      expect(await get(board, { host: 'evil.example' })).toEqual(refusedHost)
    }
  })
})

describe('a probe', () => {
  it.each(['/api/health', '/api/ready'])(
    'of %s is answered for each Host and without one, and only with health',
    async path => {
      for (const host of ['10.99.1.2:4400', 'board:4400', 'evil.example', undefined]) {
        const reply = await probe(board, path, host)
        expect(reply).toMatch(/^HTTP\/1\.[01] 200 /)
        expect(JSON.parse(reply.slice(reply.indexOf('\r\n\r\n')))).toEqual({ data: { status: 'ok' } })
      }
    },
  )

  it('of another path requires the Host of the server', async () => {
    for (const path of ['/', '/metrics', '/api/health/x', '/api/settings/auth-status'])
      for (const host of ['10.99.1.2:4400', undefined])
        expect(await probe(board, path, host), path).toMatch(/^HTTP\/1\.[01] 403 /)
  })

  it('with the origin of another page is rejected', async () => {
    expect(await get(board, { host: 'board.lan', origin: 'https://evil.example' }, '/api/health')).toEqual(
      refusedOrigin,
    )
  })

  it('with the Host of the server gets the version', async () => {
    expect(await board.client.server.health()).toMatchObject({ version: expect.stringMatching(/^\d+\./) })
  })
})

describe('Origin', () => {
  const ask = (origin: string, host = `127.0.0.1:${port}`) => get(board, { host, origin })

  it('can be the name in Host', async () => {
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, 'board.lan', 'board.lan:8080'])
      expect(await ask(`http://${host}`, host), host).toEqual(answered)
    expect(await ask('https://board.lan', 'board.lan:443')).toEqual(answered)
  })

  it('can be the public name, regardless of the Host that the proxy sends', async () => {
    expect(await ask('https://board.example.org')).toEqual(answered)
    expect(await ask('https://board.example.org', 'board.example.org')).toEqual(answered)
  })

  it('can be another name of this machine with the same port', async () => {
    for (const name of ['localhost', '127.0.0.1', '[::1]', 'app.localhost'])
      expect(await ask(`http://${name}:${port}`), name).toEqual(answered)
  })

  it('is rejected if it is foreign, null, on another port or a lookalike', async () => {
    for (const origin of [
      'https://evil.example',
      'null',
      '',
      'http://localhost',
      'http://localhost:1',
      `http://localhost.evil.example:${port}`,
      `http://evil.example:${port}`,
      `http://127.0.0.1:${port}.evil.example`,
      `http://127.0.0.1:${port}@evil.example`,
      `http://evil@127.0.0.1:${port}`,
      `ftp://127.0.0.1:${port}`,
      `http://127.0.0.1:${port}/`,
      `file://127.0.0.1:${port}`,
      `http://localhost:${port}, https://evil.example`,
      'http://board.example.org',
      'https://board.example.org.evil.example',
      'https://board.example.org:8443',
      'chrome-extension://abcdef',
    ])
      expect(await ask(origin), origin).toEqual(refusedOrigin)
  })

  it('of this machine does not allow a Host beyond it', async () => {
    expect(await ask(`http://localhost:${port}`, `board.lan:${port}`)).toEqual(refusedOrigin)
  })

  it('is also required on writes with a valid token', async () => {
    const reply = await board.request('POST', '/api/projects', {
      body: { name: 'p', path: '/' },
      headers: { origin: 'https://evil.example' },
    })
    expect([reply.status, reply.body.error.code]).toEqual([403, 'ORIGIN_NOT_ALLOWED'])
    expect(reply.headers.get('access-control-allow-origin')).toBeNull()
    expect(await board.client.projects.list()).toEqual([])
  })
})
