import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startBoard, type Reply, type RequestOptions, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { unlimited } from '../support/identity/tokenInfo.ts'

const dayMs = 86_400_000
const ada = { email: 'ada@example.org', password: 'correct horse 1', displayName: 'Ada' }
const bob = { email: 'bob@example.org', password: 'battery staple 2' }

const boards: TestBoard[] = []
const start = async (config?: Parameters<typeof startBoard>[0]) => {
  const board = await startBoard(config)
  boards.push(board)
  return board
}
afterAll(async () => {
  for (const board of boards) await board.close()
})

const post = (board: TestBoard, path: string, body: unknown, options: RequestOptions = {}) =>
  board.request('POST', `/api/auth/${path}`, { token: null, body, ...options })
const codeOf = ({ status, body }: Reply) => [status, body?.error?.code]

describe('a fresh server', () => {
  let board: TestBoard
  beforeAll(async () => {
    board = await start()
  })

  it('reports that it has no users', async () => {
    expect((await board.request('GET', '/api/settings/auth-status', { token: null })).body.data).toEqual({
      authEnabled: true,
      oidcEnabled: false,
      hasUsers: false,
      registrationEnabled: false,
    })
  })

  it('accepts the local token as super_admin', async () => {
    expect(await board.client.auth.me()).toEqual({
      id: '0',
      email: '',
      displayName: 'Local operator',
      role: 'super_admin',
      token: unlimited('local'),
    })
  })

  it('needs no setup code on loopback', () => {
    expect(board.server.app.identity.setupCode()).toBeUndefined()
  })

  it('rejects registrations before setup', async () => {
    expect(codeOf(await post(board, 'register', bob))).toEqual([403, 'REGISTRATION_DISABLED'])
  })

  it('refuses to revoke the local token', async () => {
    expect(codeOf(await board.request('POST', '/api/auth/logout'))).toEqual([409, 'CONFLICT'])
    expect((await board.client.auth.me()).id).toBe('0')
  })

  it('requires a token in the right format', async () => {
    for (const headers of [
      {},
      { authorization: board.token },
      { authorization: `Basic ${board.token}` },
      { authorization: 'Bearer' },
      { authorization: 'Bearer ' },
      { authorization: `Bearer ${board.token}x` },
      { authorization: `Bearer Bearer ${board.token}` },
    ] as Array<Record<string, string>>) {
      const reply = await board.request('GET', '/api/auth/me', { token: null, headers })
      expect(codeOf(reply), JSON.stringify(headers)).toEqual([401, 'UNAUTHENTICATED'])
      expect(reply.headers.get('www-authenticate')).toBe('Bearer')
    }
    expect(
      (await board.request('GET', '/api/auth/me', { token: null, headers: { authorization: `bearer ${board.token}` } }))
        .status,
    ).toBe(200)
  })

  it('rejects a wrong checksum without a lookup', async () => {
    const lookUp = vi.spyOn(board.server.app.db, 'get')
    const last = board.token.at(-1) === 'a' ? 'b' : 'a'
    for (const prefix of ['svc_st_', 'svc_ak_', 'svc_at_', 'svc_lt_'])
      expect(
        codeOf(await board.request('GET', '/api/auth/me', { token: prefix + board.token.slice(7, -1) + last })),
      ).toEqual([401, 'UNAUTHENTICATED'])
    expect(lookUp).not.toHaveBeenCalled()
    lookUp.mockRestore()
  })

  it('rejects tokens of another server', async () => {
    const other = await start()
    expect(codeOf(await board.request('GET', '/api/auth/me', { token: other.token }))).toEqual([401, 'UNAUTHENTICATED'])
  })
})

describe('setup', () => {
  it('succeeds once, also with thirty concurrent requests', async () => {
    const board = await start()
    const replies = await Promise.all(
      Array.from({ length: 30 }, (_, i) => post(board, 'setup', { ...ada, email: `ada${i}@example.org` })),
    )
    const won = replies.filter(reply => reply.status === 201)
    expect(won).toHaveLength(1)
    expect(replies.filter(reply => reply.status !== 201).map(codeOf)).toEqual(
      Array.from({ length: 29 }, () => [409, 'SETUP_ALREADY_DONE']),
    )
    const { token, user } = won[0]!.body.data
    expect(user).toEqual({
      id: '1',
      email: expect.stringMatching(/^ada\d+@example.org$/),
      displayName: 'Ada',
      role: 'super_admin',
    })
    expect(await board.as(token).auth.me()).toEqual({ ...user, token: unlimited('sign-in') })
    expect(await board.client.auth.me()).toEqual({ ...user, token: unlimited('local') })
    expect(await board.client.users.search({ q: 'ada' })).toHaveLength(1)
  })

  it('gives the records of the local operator to the first user', async () => {
    const board = await start()
    const project = await board.client.projects.create({ name: 'mine', path: board.folder('mine') })
    const key = await board.client.keys.create({
      name: 'cron',
      scope: 'project',
      projectId: project.id,
      permissions: ['cards.read'],
    })
    const template = await board.client.templates.create({ name: 'T', columns: [] })
    await board.client.settings.setUser({ theme: 'dark' })
    const { token } = await board.as().auth.setup(ada)
    const client = board.as(token)
    expect((await client.projects.list()).map(each => [each.id, each.role, each.ownerId])).toEqual([
      [project.id, 'admin', '1'],
    ])
    expect((await client.keys.list()).map(each => each.id)).toEqual([key.id])
    expect((await client.settings.getUser()).theme).toBe('dark')
    expect(await client.templates.update({ id: template.id, name: 'U' })).toMatchObject({ name: 'U' })
    expect((await board.request('GET', `/api/external/projects/${project.id}/stats`, { token: key.key })).status).toBe(
      200,
    )
  })

  it('validates its input', async () => {
    const board = await start()
    for (const body of [
      { ...ada, password: 'short' },
      { ...ada, email: 'nobody' },
      { ...ada, role: 'user' },
      { email: ada.email },
      { ...ada, password: 'p\0assword12' },
    ]) {
      const reply = await post(board, 'setup', body)
      expect(codeOf(reply)).toEqual([400, 'VALIDATION_FAILED'])
      expect(reply.text).not.toContain(ada.password)
    }
    expect((await board.request('GET', '/api/settings/auth-status')).body.data.hasUsers).toBe(false)
  })
})

describe('beyond loopback', () => {
  const far = { 'x-forwarded-for': '203.0.113.7' }

  it('requires the setup code from any peer that is not on this machine', async () => {
    const board = await start({ host: '0.0.0.0', trustProxy: true })
    const code = board.server.app.identity.setupCode()!
    expect(code).toMatch(/^([0-9a-f]{4}-){3}[0-9a-f]{4}$/)
    expect(codeOf(await post(board, 'setup', ada, { headers: far }))).toEqual([403, 'SETUP_CODE_REQUIRED'])
    expect(codeOf(await post(board, 'setup', { ...ada, setupCode: `${code}0` }, { headers: far }))).toEqual([
      403,
      'SETUP_CODE_REQUIRED',
    ])
    expect((await post(board, 'setup', { ...ada, setupCode: code }, { headers: far })).status).toBe(201)
    expect(board.server.app.identity.setupCode()).toBeUndefined()
    expect(codeOf(await post(board, 'setup', { ...ada, setupCode: code }, { headers: far }))).toEqual([
      409,
      'SETUP_ALREADY_DONE',
    ])
    expect(codeOf(await post(board, 'register', bob, { headers: far }))).toEqual([403, 'REGISTRATION_DISABLED'])
  })

  it('accepts the code in the configuration, and throttles guesses', async () => {
    const board = await start({ host: '0.0.0.0', trustProxy: true, setupCode: 'open sesame' })
    for (let i = 0; i < 10; i++)
      expect(codeOf(await post(board, 'setup', { ...ada, setupCode: `guess ${i}` }, { headers: far }))).toEqual([
        403,
        'SETUP_CODE_REQUIRED',
      ])
    expect(codeOf(await post(board, 'setup', { ...ada, setupCode: 'open sesame' }, { headers: far }))).toEqual([
      429,
      'RATE_LIMITED',
    ])
    expect(
      (
        await post(
          board,
          'setup',
          { ...bob, setupCode: 'open sesame' },
          { headers: { 'x-forwarded-for': '203.0.113.8' } },
        )
      ).status,
    ).toBe(201)
  })

  it('requires no code on this machine', async () => {
    const board = await start({ host: '0.0.0.0' })
    expect((await post(board, 'setup', ada)).status).toBe(201)
  })

  it('requires the code from every client behind a proxy that sends no client addresses, except with the local token', async () => {
    const board = await start({ publicUrl: 'https://board.example.org' })
    expect(codeOf(await post(board, 'setup', ada))).toEqual([403, 'SETUP_CODE_REQUIRED'])
    expect(codeOf(await post(board, 'setup', ada, { token: board.token.slice(0, -1) }))).toEqual([
      403,
      'SETUP_CODE_REQUIRED',
    ])
    expect((await post(board, 'setup', ada, { token: board.token })).status).toBe(201)
  })
})

describe('with users', () => {
  let board: TestBoard
  let now = Date.now()
  let adaToken: string
  beforeAll(async () => {
    board = await start({ clock: () => new Date(now), trustProxy: true, host: '0.0.0.0' })
    await board.server.app.db.transaction(async tx => {
      await tx.run(`INSERT INTO server_settings VALUES ('auth', '{"registrationEnabled":true}')`)
    })
    adaToken = (await post(board, 'setup', ada)).body.data.token
  })
  let peers = 0
  const newPeer = () => ({ 'x-forwarded-for': `198.51.100.${++peers}` })
  const from = (peer: Record<string, string>, path: string, body: unknown) => post(board, path, body, { headers: peer })

  it('registers a user with the role user, and signs in', async () => {
    const reply = await post(board, 'register', bob)
    expect(reply.status).toBe(201)
    expect(reply.body.data.user).toEqual({ id: expect.any(String), email: bob.email, displayName: 'bob', role: 'user' })
    expect(await board.as(reply.body.data.token).auth.me()).toEqual({
      ...reply.body.data.user,
      token: { ...unlimited('sign-in'), expiresAt: new Date(now + 30 * dayMs).toISOString() },
    })
  })

  it('accepts an email for one account only, in upper or lower case, also concurrently', async () => {
    expect(codeOf(await from(newPeer(), 'register', { ...bob, email: 'BOB@example.org' }))).toEqual([
      409,
      'EMAIL_TAKEN',
    ])
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => from(newPeer(), 'register', { ...bob, email: 'eve@example.org' })),
    )
    expect(replies.map(reply => (reply.status === 201 ? 'registered' : reply.body.error.code)).sort()).toEqual([
      'EMAIL_TAKEN',
      'EMAIL_TAKEN',
      'EMAIL_TAKEN',
      'EMAIL_TAKEN',
      'registered',
    ])
  })

  it('signs in with the right password, regardless of the case of the email address', async () => {
    const reply = await from(newPeer(), 'login', { email: 'Ada@Example.org', password: ada.password })
    expect(reply.status).toBe(200)
    expect(reply.body.data.user).toEqual({ id: '1', email: ada.email, displayName: 'Ada', role: 'super_admin' })
    expect(reply.body.data.token).toMatch(/^svc_st_[0-9A-Za-z]{33}$/)
  })

  it('returns equal responses for a wrong password and an unknown account', async () => {
    const wrong = await from(newPeer(), 'login', { email: ada.email, password: 'wrong horse' })
    const unknown = await from(newPeer(), 'login', { email: 'nobody@example.org', password: 'wrong horse' })
    expect(codeOf(wrong)).toEqual([401, 'INVALID_CREDENTIALS'])
    expect(unknown.text).toBe(wrong.text)
    expect(unknown.status).toBe(wrong.status)
  })

  it('revokes a token at logout, and no other one', async () => {
    const { token } = (await from(newPeer(), 'login', { email: ada.email, password: ada.password })).body.data
    expect((await board.request('POST', '/api/auth/logout', { token })).status).toBe(204)
    expect(codeOf(await board.request('GET', '/api/auth/me', { token }))).toEqual([401, 'UNAUTHENTICATED'])
    expect((await board.as(adaToken).auth.me()).email).toBe(ada.email)
  })

  it('finds users by a part of their name or email, without passwords or roles', async () => {
    expect(await board.as(adaToken).users.search({ q: 'BOB@' })).toEqual([
      { id: expect.any(String), email: bob.email, displayName: 'bob' },
    ])
    expect(await board.as(adaToken).users.search({ q: '%' })).toEqual([])
    expect(await board.as(adaToken).users.search({ q: '_' })).toEqual([])
  })

  it('keeps a sign-in alive while it is used, and ends it 30 days after its last use', async () => {
    const { token } = (await from(newPeer(), 'login', { email: ada.email, password: ada.password })).body.data
    const expiryOf = () =>
      board.server.app.db
        .all<{ expires_at: string }>('SELECT expires_at FROM sign_in_tokens ORDER BY expires_at DESC LIMIT 1')
        .then(rows => Date.parse(rows[0]!.expires_at))
    const first = await expiryOf()
    now += dayMs / 2
    await board.as(token).auth.me()
    now += 20 * dayMs
    await board.as(token).auth.me()
    await eventually('the longer expiry', async () => (await expiryOf()) === now + 30 * dayMs)
    expect(now + 30 * dayMs).toBeGreaterThan(first)
    now += 29.9 * dayMs
    expect((await board.as(token).auth.me()).email).toBe(ada.email)
    await eventually('the longer expiry', async () => (await expiryOf()) === now + 30 * dayMs)
    now += 30 * dayMs
    expect(codeOf(await board.request('GET', '/api/auth/me', { token }))).toEqual([401, 'TOKEN_EXPIRED'])
  })

  it('keeps no password and no token in plain text in the data folder', async () => {
    const { token } = (
      await post(
        board,
        'register',
        { email: 'gus@example.org', password: 'very secret 99' },
        { headers: { 'idempotency-key': 'k1' } },
      )
    ).body.data
    const key = (
      await board.request('POST', '/api/keys', {
        token,
        body: { name: 'k', scope: 'server', permissions: ['cards.read'] },
        headers: { 'idempotency-key': 'k2' },
      })
    ).body.data.key
    expect([token, key]).toEqual([expect.stringMatching(/^svc_st_/), expect.stringMatching(/^svc_ak_/)])
    const stored = board.stored()
    expect(stored).toContain('gus@example.org')
    expect(stored).toContain('$argon2id$v=19$m=19456,t=2,p=1$')
    for (const secret of [token, key, adaToken, board.token, 'very secret 99', bob.password, ada.password])
      expect(stored.includes(secret)).toBe(false)
  })

  it('revokes the tokens of a deleted account', async () => {
    const { token, user } = (await post(board, 'register', { email: 'hal@example.org', password: 'a long password' }))
      .body.data
    const { key } = (
      await board.request('POST', '/api/keys', {
        token,
        body: { name: 'k', scope: 'server', permissions: ['cards.read'] },
      })
    ).body.data
    await board.server.app.db.transaction(async tx => {
      await tx.run('DELETE FROM users WHERE id = ?', [Number(user.id)])
    })
    expect(codeOf(await board.request('GET', '/api/auth/me', { token }))).toEqual([401, 'UNAUTHENTICATED'])
    expect(codeOf(await board.request('GET', '/api/external/projects/1/stats', { token: key }))).toEqual([
      401,
      'UNAUTHENTICATED',
    ])
  })
})
