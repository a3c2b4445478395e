import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { commandLine } from '../support/commands/commandLine.ts'
import { startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'
import { openSocket, type LiveSocket } from '../support/receivers/liveSocket.ts'
import { unlimited } from '../support/identity/tokenInfo.ts'

const ada = { email: 'ada@example.org', password: 'correct horse', displayName: 'Ada' }
const withinASecond = 1000
const boards: TestBoard[] = []
const sockets: LiveSocket[] = []
const start = async (config?: Parameters<typeof startBoard>[0]) => {
  const board = await startBoard(config)
  boards.push(board)
  return board
}
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.close()
})
afterAll(async () => {
  for (const board of boards) await board.close()
})

const codeOf = ({ status, body }: Reply) => [status, body?.error?.code]
const put = (board: TestBoard, body: unknown, token: string | null = board.token) =>
  board.request('PUT', '/api/settings/auth', { token, body })
const me = (board: TestBoard, headers?: Record<string, string>) =>
  board.request('GET', '/api/auth/me', { token: null, headers })

describe('the settings', () => {
  it('enable authentication by default on loopback, and require a super_admin', async () => {
    const board = await start()
    expect((await board.request('GET', '/api/settings/auth')).body.data).toEqual({
      enabled: true,
      registrationEnabled: true,
    })
    await board.as().auth.setup(ada)
    const { token } = await board.as().auth.register({ email: 'bob@example.org', password: 'battery staple' })
    const admin = await board.client.users.create({ email: 'admin@example.org', name: 'Admin', role: 'admin' })
    const adminToken = (await board.as().auth.login({ email: 'admin@example.org', password: admin.generatedPassword }))
      .token
    for (const each of [token, adminToken]) {
      expect(codeOf(await board.request('GET', '/api/settings/auth', { token: each }))).toEqual([403, 'FORBIDDEN'])
      expect(codeOf(await put(board, { enabled: false }, each))).toEqual([403, 'FORBIDDEN'])
    }
    expect(codeOf(await put(board, { enabled: false }, null))).toEqual([401, 'UNAUTHENTICATED'])
    for (const body of [{}, { registrationEnabled: true }, { enabled: 'no' }, { enabled: true, more: 1 }])
      expect(codeOf(await put(board, body))).toEqual([400, 'VALIDATION_FAILED'])
  })

  it('enable and disable registration', async () => {
    const board = await start()
    await board.as().auth.setup(ada)
    const register = (email: string) =>
      board.request('POST', '/api/auth/register', { token: null, body: { email, password: 'battery staple' } })
    expect((await put(board, { enabled: true, registrationEnabled: false })).body.data).toEqual({
      enabled: true,
      registrationEnabled: false,
    })
    expect(codeOf(await register('bob@example.org'))).toEqual([403, 'REGISTRATION_DISABLED'])
    expect((await put(board, { enabled: true })).body.data).toEqual({ enabled: true, registrationEnabled: false })
    await put(board, { enabled: true, registrationEnabled: true })
    expect((await register('bob@example.org')).status).toBe(201)
  })

  it('disable registration by default beyond loopback, where a super_admin can enable it', async () => {
    const board = await start({ host: '0.0.0.0' })
    await board.as().auth.setup(ada)
    expect((await board.request('GET', '/api/settings/auth')).body.data).toEqual({
      enabled: true,
      registrationEnabled: false,
    })
    expect((await put(board, { enabled: true, registrationEnabled: true })).status).toBe(200)
    expect(
      (
        await board.request('POST', '/api/auth/register', {
          token: null,
          body: { email: 'bob@example.org', password: 'battery staple' },
        })
      ).status,
    ).toBe(201)
  })
})

describe('with authentication off', () => {
  let board: TestBoard
  let projectId: string
  beforeAll(async () => {
    board = await start()
    projectId = (await board.client.projects.create({ name: 'P', path: board.folder('p') })).id
    await put(board, { enabled: false })
  })

  it('a request without a token acts as the local operator, and after setup as the first super_admin', async () => {
    expect((await board.request('GET', '/api/settings/auth-status', { token: null })).body.data).toMatchObject({
      authEnabled: false,
      hasUsers: false,
    })
    expect((await me(board)).body.data).toMatchObject({ id: '0', role: 'super_admin' })
    expect((await board.as().cards.create({ projectId, title: 'Open' })).title).toBe('Open')
    await board.as().auth.setup(ada)
    expect((await me(board)).body.data).toEqual({
      id: '1',
      email: ada.email,
      displayName: 'Ada',
      role: 'super_admin',
      token: unlimited('none'),
    })
    expect((await board.as().projects.get({ id: projectId })).ownerId).toBe('1')
    expect(codeOf(await board.request('POST', '/api/auth/logout', { token: null }))).toEqual([409, 'CONFLICT'])
  })

  it('a token still identifies the caller, and a wrong one is rejected', async () => {
    const { token } = await board.as().auth.register({ email: 'bob@example.org', password: 'battery staple' })
    expect((await board.as(token).auth.me()).role).toBe('user')
    expect(codeOf(await board.request('GET', `/api/projects/${projectId}`, { token }))).toEqual([
      404,
      'PROJECT_NOT_FOUND',
    ])
    for (const wrong of ['svc_st_nonsense', `${token.slice(0, -1)}!`])
      expect(codeOf(await board.request('GET', '/api/auth/me', { token: wrong }))).toEqual([401, 'UNAUTHENTICATED'])
    expect(codeOf(await me(board, { authorization: '' }))).toEqual([401, 'UNAUTHENTICATED'])
  })

  it('foreign pages and requests through a proxy are rejected', async () => {
    expect(codeOf(await me(board, { origin: 'https://evil.example' }))).toEqual([403, 'ORIGIN_NOT_ALLOWED'])
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via', 'x-forwarded-host'])
      expect(codeOf(await me(board, { [name]: '203.0.113.7' })), name).toEqual([401, 'UNAUTHENTICATED'])
  })

  it('external routes still require an API key', async () => {
    expect(codeOf(await board.request('GET', `/api/external/projects/${projectId}/stats`, { token: null }))).toEqual([
      401,
      'UNAUTHENTICATED',
    ])
  })

  it('a socket without a token is open, and closed within a second after authentication is enabled again', async () => {
    const [open, wrong] = [await openSocket(board.url), await openSocket(board.url, '')]
    sockets.push(open, wrong)
    expect((await wrong.untilClosed()).code).toBe(4001)
    open.send({ type: 'subscribe', payload: { projectId } })
    await open.message('subscribed')
    expect((await put(board, { enabled: true }, null)).body.data).toMatchObject({ enabled: true })
    expect(codeOf(await me(board))).toEqual([401, 'UNAUTHENTICATED'])
    expect((await open.untilClosed(withinASecond)).code).toBe(4001)
    expect((await board.request('GET', '/api/settings/auth-status', { token: null })).body.data).toMatchObject({
      authEnabled: true,
    })
  })
})

describe('beyond loopback', () => {
  it.each([
    ['it listens on another address', { host: '0.0.0.0' }],
    ['it is behind a proxy', { trustProxy: true }],
    ['it has a public address', { publicUrl: 'https://board.example.org' }],
    ['it answers to another name', { allowHosts: ['board.example.org'] }],
  ])('authentication stays enabled while %s', async (_, config) => {
    const board = await start(config)
    const reply = await put(board, { enabled: false })
    expect([...codeOf(reply), reply.body.error.message]).toEqual([
      409,
      'CONFLICT',
      'Authentication cannot be turned off while other machines can reach the server.',
    ])
    expect(codeOf(await me(board))).toEqual([401, 'UNAUTHENTICATED'])
  })

  it('a server with disabled authentication does not start, and reports why in one line', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'board-open-'))
    const board = await startBoard({ dataDir })
    await put(board, { enabled: false })
    const { database } = board.server.app.config
    await board.close()
    const line =
      'Authentication is off, so the server must not be reachable from other machines. Start it on 127.0.0.1 and run "board settings auth on" first.'
    for (const config of [{ host: '0.0.0.0' }, { publicUrl: 'https://board.example.org' }, { trustProxy: true }])
      await expect(startBoard({ ...config, dataDir })).rejects.toMatchObject({ code: 'CONFLICT', message: line })
    const cli = commandLine()
    const { code, stdout, stderr } = await cli.board([
      'serve',
      '--host',
      '0.0.0.0',
      '--port',
      '0',
      '--data-dir',
      dataDir,
      ...(database ? ['--database', database.url] : []),
    ])
    expect({ code, stdout, stderr }).toEqual({
      code: 5,
      stdout: '',
      stderr: `board: ${line[0]!.toLowerCase()}${line.slice(1, -1)}\n`,
    })
    cli.close()
    const again = await startBoard({ dataDir })
    expect((await me(again)).status).toBe(200)
    await again.close()
    rmSync(dataDir, { recursive: true, force: true })
  })
})
