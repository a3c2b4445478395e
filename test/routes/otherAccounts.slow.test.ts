import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { ServerConfig } from '../../src/config/server.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { hasBubblewrap } from '../support/processes/bubblewrap.ts'
import { requestAs, hasOtherAccount, type RawResponse, type RawRequest } from '../support/processes/otherAccount.ts'

const ada = { email: 'ada@example.org', password: 'correct horse' }
const bob = { email: 'bob@example.org', password: 'battery staple' }
const boards: TestBoard[] = []
const folders: string[] = []
const start = async (config?: Partial<ServerConfig>) => boards[boards.push(await startBoard(config)) - 1]!
afterAll(async () => {
  for (const board of boards) await board.close()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

const upgrade = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}
const me: RawRequest = { path: '/api/auth/me' }
const figures: RawRequest = { path: '/metrics' }
/** Opens a socket, and closes it with an empty frame. */
const socket: RawRequest = { path: '/api/ws', headers: upgrade, raw: '\x88\x80\0\0\0\0' }
const tools: RawRequest = { method: 'POST', path: '/api/mcp', body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } }
const setup: RawRequest = { method: 'POST', path: '/api/auth/setup', body: ada }
const register: RawRequest = { method: 'POST', path: '/api/auth/register', body: bob }

const outcome = ({ status, body }: RawResponse) => [status, body?.error?.code]
const askOne = async (account: 'other' | 'own', board: TestBoard, request: RawRequest) =>
  (await requestAs(account, board.url, [request]))[0]!
/** The frame with which the server closes a socket without a token. */
const closedWith4001 = /^\x88[^]\x0f\xa1/

describe.runIf(hasOtherAccount())('another account of the machine', () => {
  it('is rejected if authentication is disabled: by routes, the socket and the tools of agents', async () => {
    const board = await start()
    await board.client.auth.setSettings({ enabled: false })
    const requests = [me, tools, figures, socket]
    const own = await requestAs('own', board.url, requests)
    expect(own.map(({ status }) => status)).toEqual([200, 200, 200, 101])
    expect(own[3]!.rest).not.toMatch(closedWith4001)
    const other = await requestAs('other', board.url, requests)
    expect(other.map(outcome)).toEqual([
      [401, 'UNAUTHENTICATED'],
      [401, 'UNAUTHENTICATED'],
      [401, 'UNAUTHENTICATED'],
      [101, undefined],
    ])
    expect(other[3]!.rest).toMatch(closedWith4001)
    expect(other[0]!.body.error.message).toContain('the account that runs the server')
  })

  it('gets access with a token, and to public routes', async () => {
    const board = await start()
    const authorization = `Bearer ${board.token}`
    const requests = ['/', '/api/health', '/api/ready', '/api/docs', '/api/openapi.json', '/api/settings/auth-status']
    const replies = await requestAs('other', board.url, [
      ...requests.map(path => ({ path })),
      { ...me, headers: { authorization } },
      { ...figures, headers: { authorization } },
    ])
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
  })

  it('cannot create the first user, and gets the names of those who can', async () => {
    const board = await start()
    const refused = await askOne('other', board, setup)
    expect(outcome(refused)).toEqual([403, 'SETUP_CODE_REQUIRED'])
    expect(refused.body.error.message).toContain('with the account that runs the server')
    expect((await askOne('own', board, setup)).status).toBe(201)
  })

  it('cannot create it by disconnecting early, when the other end of the connection has no owner', async () => {
    const board = await start()
    const gone = Array.from({ length: 20 }, () => ({ ...setup, leaves: true }))
    await requestAs('other', board.url, gone)
    expect(outcome(await askOne('other', board, setup))[0]).not.toBe(409)
    expect((await board.client.auth.status()).hasUsers).toBe(false)
  })

  it('creates it with the configured code of a server', async () => {
    const board = await start({ setupCode: 'open sesame' })
    expect(outcome(await askOne('other', board, setup))).toEqual([403, 'SETUP_CODE_REQUIRED'])
    expect((await askOne('other', board, { ...setup, body: { ...ada, setupCode: 'open sesame' } })).status).toBe(201)
  })

  it('cannot register until an administrator opens registration, which is then open to all', async () => {
    const board = await start()
    await board.as().auth.setup(ada)
    expect(outcome(await askOne('other', board, register))).toEqual([403, 'REGISTRATION_DISABLED'])
    expect((await askOne('own', board, register)).status).toBe(201)
    await board.client.auth.setSettings({ enabled: true, registrationEnabled: true })
    const carl = { ...register, body: { ...bob, email: 'carl@example.org' } }
    expect((await askOne('other', board, carl)).status).toBe(201)
    await board.client.auth.setSettings({ enabled: true, registrationEnabled: false })
    const dora = { ...register, body: { ...bob, email: 'dora@example.org' } }
    expect(outcome(await askOne('own', board, dora))).toEqual([403, 'REGISTRATION_DISABLED'])
  })

  it.each([
    ['over IPv6', { host: '::1' }, '::1'],
    ['over IPv4 to a server of both families', { host: '::' }, '127.0.0.1'],
    ['over IPv4 through a socket of IPv6', {}, '::ffff:127.0.0.1'],
    ['over another loopback address', { host: '0.0.0.0' }, '127.0.0.2'],
  ])("is distinguished from the server's own account %s", async (_, config, host) => {
    const board = await start(config)
    const [own, other] = [
      await askOne('own', board, { ...figures, host }),
      await askOne('other', board, { ...figures, host }),
    ]
    expect([own.status, other.status]).toEqual([200, 401])
  })
})

describe.runIf(hasBubblewrap())("a sandbox on the machine's network", () => {
  it('is a stranger, although its processes have the account of the server', async () => {
    const board = await start()
    await board.client.auth.setSettings({ enabled: false })
    const requests = [me, tools, figures, socket]
    const own = await requestAs('own', board.url, requests)
    expect(own.map(({ status }) => status)).toEqual([200, 200, 200, 101])
    const sandboxed = await requestAs('sandboxed', board.url, requests)
    expect(sandboxed.map(({ status }) => status)).toEqual([401, 401, 401, 101])
    expect(sandboxed[3]!.rest).toMatch(closedWith4001)
  })

  it('is accepted with a token', async () => {
    const board = await start()
    const authorization = `Bearer ${board.token}`
    const [answered] = await requestAs('sandboxed', board.url, [{ ...me, headers: { authorization } }])
    expect(answered!.status).toBe(200)
  })
})

describe('a request with forwarding headers', () => {
  it.each([
    'x-forwarded-for',
    'x-forwarded-proto',
    'forwarded',
    'via',
    'x-real-ip',
    'cf-connecting-ip',
    'true-client-ip',
  ])('by %s is not of this machine', async name => {
    const board = boards[0] ?? (await start())
    expect((await askOne('own', board, figures)).status).toBe(200)
    expect((await askOne('own', board, { ...figures, headers: { [name]: '127.0.0.1' } })).status).toBe(401)
  })
})

describe('where accounts cannot be distinguished', () => {
  const nowhere = { socketTables: '/nonexistent' }

  it('the first user needs the printed code or the local token, also to register', async () => {
    const board = await start(nowhere)
    const setupCode = board.server.app.identity.setupCode()
    expect(setupCode).toMatch(/^([0-9a-f]{4}-){3}[0-9a-f]{4}$/)
    const post = (path: string, body: object, token: string | null) =>
      board.request('POST', `/api/auth/${path}`, { token, body })
    const refused = await post('setup', ada, null)
    expect([refused.status, refused.body.error.code]).toEqual([403, 'SETUP_CODE_REQUIRED'])
    expect(refused.body.error.message).toContain('printed')
    expect((await post('setup', { ...ada, setupCode }, null)).status).toBe(201)
    expect((await post('register', bob, null)).body.error.code).toBe('REGISTRATION_DISABLED')
    expect((await post('register', bob, board.token)).status).toBe(201)
    const second = await start(nowhere)
    expect((await second.client.auth.setup(ada)).user.role).toBe('super_admin')
  })

  it('disabled authentication gives no access without a token', async () => {
    const board = await start(nowhere)
    await board.client.auth.setSettings({ enabled: false })
    expect((await requestAs('own', board.url, [me, figures, tools])).map(outcome)).toEqual(
      [me, figures, tools].map(() => [401, 'UNAUTHENTICATED']),
    )
    expect((await board.client.auth.me()).role).toBe('super_admin')
  })
})

describe("the kernel's table", () => {
  /** A free local port, so that its table row can be written before the call. */
  const freePort = () =>
    new Promise<number>(resolve => {
      const server = createServer().listen(0, '127.0.0.1', () => {
        const { port } = server.address() as { port: number }
        server.close(() => resolve(port))
      })
    })
  const [own, root] = [process.geteuid!(), 0]
  /** A socket of this process, which is in the server's own user namespace. */
  const held = readdirSync('/proc/self/fd')
    .map(file => {
      try {
        return Number(/^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${file}`))?.[1])
      } catch {
        return Number.NaN
      }
    })
    .find(inode => inode > 0)!
  const at = (port: number) => `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const line = (client: number, server: number, state: string, uid: number, inode: number) =>
    `   0: ${at(client)} ${at(server)} ${state} 00000000:00000000 00:00000000 00000000 ${String(uid).padStart(5)}        0 ${inode} 1 0000000000000000 20 4 30 10 -1\n`
  const head = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n'

  it.each<[string, number, Array<[state: string, uid: number, inode: number]>]>([
    ['a connection of the own account', 200, [['01', own, held]]],
    ['a connection whose client has sent everything', 200, [['05', own, held]]],
    ['a connection of the own account without a process', 401, [['01', own, 5]]],
    ["another account's", 401, [['01', own + 1, held]]],
    ['a connection without an owner', 401, [['05', root, 0]]],
    ['an ended connection', 401, [['06', root, 0]]],
    ['a connection that is being opened', 401, [['02', own, held]]],
    [
      'two connections, one of another account',
      401,
      [
        ['01', own, held],
        ['01', own + 1, held],
      ],
    ],
    ['none', 401, []],
  ])('attributes %s to: %i', async (_, status, entries) => {
    const socketTables = mkdtempSync(join(tmpdir(), 'board-tables-'))
    folders.push(socketTables)
    writeFileSync(join(socketTables, 'tcp'), head)
    const board = await start({ socketTables })
    const [client, server] = [await freePort(), Number(new URL(board.url).port)]
    const others = line(server, client, '01', own, 4)
    writeFileSync(
      join(socketTables, 'tcp'),
      head + others + entries.map(entry => line(client, server, ...entry)).join(''),
    )
    expect((await askOne('own', board, { ...figures, localPort: client })).status).toBe(status)
  })
})
