import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { atOnce } from '../support/servers/atOnce.ts'
import { startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { follow, openSocket, type LiveSocket } from '../support/receivers/liveSocket.ts'
import { unlimited } from '../support/identity/tokenInfo.ts'

type Role = 'super_admin' | 'admin' | 'user'
interface Person {
  id: string
  email: string
  password: string
  token: string
  client: Client
}

const withinASecond = 1000
const shape = /^([a-km-np-z2-9]{5}-){3}[a-km-np-z2-9]{5}$/
let board: TestBoard
let root: Client
let rootToken: string
const sockets: LiveSocket[] = []
const opened = (socket: LiveSocket) => {
  sockets.push(socket)
  return socket
}

beforeAll(async () => {
  board = await startBoard()
  rootToken = (
    await board.as().auth.setup({ email: 'root@example.org', password: 'root password', displayName: 'Root' })
  ).token
  root = board.as(rootToken)
})
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.close()
})
afterAll(() => board.close())

const request = (method: string, path: string, token: string, body?: unknown): Promise<Reply> =>
  board.request(method, path, { token, body })
const codeOf = ({ status, body }: Reply) => [status, body?.error?.code]
const users = (method: string, path: string, token: string, body?: unknown) =>
  request(method, `/api/admin/users${path}`, token, body)

let made = 0
/** A new account that has signed in with its generated password. */
async function person(role: Role = 'user', name = `Person ${++made}`): Promise<Person> {
  const email = `${name.toLowerCase().replaceAll(' ', '.')}.${++made}@example.org`
  const { user, generatedPassword: password } = await root.users.create({ email, name, role })
  const { token } = await board.as().auth.login({ email, password })
  return { id: user.id, email, password, token, client: board.as(token) }
}

describe('creating an account', () => {
  it('shows a strong password once, which can be used to sign in', async () => {
    const { user, generatedPassword } = await root.users.create({
      email: 'Ada@example.org',
      name: 'Ada',
      role: 'admin',
    })
    expect(user).toEqual({
      id: expect.stringMatching(/^\d+$/),
      email: 'Ada@example.org',
      name: 'Ada',
      role: 'admin',
      authProvider: 'local',
      avatarUrl: null,
      isSuperAdmin: false,
      addressVerified: true,
      createdAt: expect.any(String),
    })
    expect(generatedPassword).toMatch(shape)
    const signedIn = await board.as().auth.login({ email: 'ada@example.org', password: generatedPassword })
    expect(await board.as(signedIn.token).auth.me()).toEqual({
      id: user.id,
      email: 'Ada@example.org',
      displayName: 'Ada',
      role: 'admin',
      token: unlimited('sign-in'),
    })
    const list = await users('GET', '?search=ada@', rootToken)
    expect(list.body.data).toEqual({ users: [user], total: 1 })
    expect(list.text).not.toContain(generatedPassword)
  })

  it('stores no password in plain text, not even with an Idempotency-Key', async () => {
    const send = () =>
      board.request('POST', '/api/admin/users', {
        token: rootToken,
        body: { email: 'once@example.org', name: 'Once', role: 'user' },
        headers: { 'idempotency-key': 'again' },
      })
    const [first, second] = [await send(), await send()]
    expect([first.status, ...codeOf(second)]).toEqual([201, 409, 'EMAIL_TAKEN'])
    const { generatedPassword } = await root.users.resetPassword({ id: first.body.data.user.id })
    const stored = board.stored()
    expect(stored).toContain('once@example.org')
    for (const secret of [first.body.data.generatedPassword, generatedPassword])
      expect(stored.includes(secret)).toBe(false)
  })

  it('accepts an address for one account only, in upper or lower case, also concurrently', async () => {
    await person('user', 'Taken')
    const { email } = (await root.users.list({ search: 'taken' })).users[0]!
    expect(
      codeOf(await users('POST', '', rootToken, { email: email.toUpperCase(), name: 'Again', role: 'user' })),
    ).toEqual([409, 'EMAIL_TAKEN'])
    const replies = await atOnce(
      board,
      Array.from(
        { length: 5 },
        () => () => users('POST', '', rootToken, { email: 'many@example.org', name: 'Many', role: 'user' }),
      ),
    )
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409])
  })

  it('validates its input', async () => {
    for (const body of [
      {},
      { email: 'x@example.org', name: 'X' },
      { email: 'x', name: 'X', role: 'user' },
      { email: 'x@example.org', name: '', role: 'user' },
      { email: 'x@example.org', name: 'X', role: 'owner' },
      { email: 'x@example.org', name: 'X', role: 'user', password: 'mine' },
    ])
      expect(codeOf(await users('POST', '', rootToken, body)), JSON.stringify(body)).toEqual([400, 'VALIDATION_FAILED'])
  })

  it('cannot create the first user', async () => {
    const fresh = await startBoard()
    expect(
      codeOf(
        await fresh.request('POST', '/api/admin/users', {
          body: { email: 'x@example.org', name: 'X', role: 'super_admin' },
        }),
      ),
    ).toEqual([409, 'CONFLICT'])
    expect((await fresh.client.users.list({})).total).toBe(0)
    await fresh.close()
  })
})

describe('the list', () => {
  it('is searched by name and address, in pages with their total', async () => {
    for (const name of ['Zoe 1', 'Zoe 2', 'Zoe 3', 'Zoe 4', 'Zoe 5']) await person('user', name)
    const named = async (query: object) => {
      const { users: rows, total } = await root.users.list(query)
      return { names: rows.map(({ name }) => name), total }
    }
    expect(await named({ search: 'zoe' })).toEqual({ names: ['Zoe 1', 'Zoe 2', 'Zoe 3', 'Zoe 4', 'Zoe 5'], total: 5 })
    expect(await named({ search: 'ZOE', offset: 1, limit: 2 })).toEqual({ names: ['Zoe 2', 'Zoe 3'], total: 5 })
    expect(await named({ search: 'zoe.3.' })).toEqual({ names: ['Zoe 3'], total: 1 })
    expect(await named({ search: 'zoe', offset: 9 })).toEqual({ names: [], total: 5 })
    for (const search of ['%', '_', '\\']) expect(await named({ search })).toEqual({ names: [], total: 0 })
  })

  it('has at most 100 per page, 50 by default', async () => {
    await board.server.app.db.transaction(async tx => {
      for (let at = 0; at < 120; at++)
        await tx.run('INSERT INTO users (email, display_name, role, created_at) VALUES (?, ?, ?, ?)', [
          `bulk${at}@example.net`,
          'Bulk',
          'user',
          tx.now,
        ])
    })
    const sizes = await Promise.all(
      [{}, { limit: 1000 }].map(async page => (await root.users.list({ search: 'example.net', ...page })).users.length),
    )
    expect(sizes).toEqual([50, 100])
    for (const query of ['limit=0', 'offset=-1', 'limit=x', 'search='])
      expect(codeOf(await users('GET', `?${query}`, rootToken))).toEqual([400, 'VALIDATION_FAILED'])
  })
})

describe('the routes of administrators', () => {
  it('reject plain users and API keys', async () => {
    const { id, token } = await person()
    const { key } = await root.keys.create({ name: 'k', scope: 'server', permissions: ['cards.read'] })
    for (const [method, path, body] of [
      ['GET', ''],
      ['POST', '', { email: 'x@example.org', name: 'X', role: 'user' }],
      ['PATCH', `/${id}`, { role: 'admin' }],
      ['DELETE', `/${id}`],
      ['POST', `/${id}/reset-password`],
      ['GET', `/${id}/check-delete`],
    ] as const) {
      expect(codeOf(await users(method, path, token, body)), method + path).toEqual([403, 'FORBIDDEN'])
      expect(codeOf(await users(method, path, key, body)), method + path).toEqual([403, 'INSUFFICIENT_PERMISSIONS'])
    }
  })

  it('answer an account that does not exist with 404', async () => {
    for (const id of ['999999', 'x', '0'])
      for (const [method, path, body] of [
        ['PATCH', '', {}],
        ['DELETE', ''],
        ['POST', '/reset-password'],
        ['GET', '/check-delete'],
      ] as const)
        expect(codeOf(await users(method, `/${id}${path}`, rootToken, body))).toEqual([404, 'USER_NOT_FOUND'])
  })

  it('let an admin manage users and admins, and no super_admin', async () => {
    const [admin, top, plain] = [await person('admin'), await person('super_admin'), await person()]
    for (const [method, path, body] of [
      ['PATCH', '', { name: 'X' }],
      ['PATCH', '', { role: 'user' }],
      ['DELETE', ''],
      ['POST', '/reset-password'],
    ] as const)
      expect(codeOf(await users(method, `/${top.id}${path}`, admin.token, body))).toEqual([403, 'FORBIDDEN'])
    for (const id of [admin.id, plain.id])
      expect(codeOf(await users('PATCH', `/${id}`, admin.token, { role: 'super_admin' }))).toEqual([403, 'FORBIDDEN'])
    expect(
      codeOf(await users('POST', '', admin.token, { email: 'top@example.org', name: 'Top', role: 'super_admin' })),
    ).toEqual([403, 'FORBIDDEN'])
    expect(await admin.client.users.update({ id: plain.id, role: 'admin', name: 'Risen' })).toMatchObject({
      role: 'admin',
      name: 'Risen',
      isSuperAdmin: false,
    })
    expect((await admin.client.users.checkDelete({ id: top.id })).ownedProjectsCount).toBe(0)
    await admin.client.users.delete({ id: plain.id })
    expect((await top.client.auth.me()).role).toBe('super_admin')
  })
})

describe('a role change', () => {
  it('applies to the next request, and to an open socket within a second', async () => {
    const admin = await person('admin')
    const { id: projectId } = await root.projects.create({ name: 'Foreign', path: board.folder('foreign') })
    const live = opened(await follow(board.url, admin.token, projectId))
    await root.cards.create({ projectId, title: 'heard' })
    await live.message('card.created')
    await root.users.update({ id: admin.id, role: 'user' })
    expect(codeOf(await users('GET', '', admin.token))).toEqual([403, 'FORBIDDEN'])
    expect(codeOf(await request('GET', `/api/projects/${projectId}`, admin.token))).toEqual([404, 'PROJECT_NOT_FOUND'])
    const refusal = await eventually(
      'the end of the subscription',
      () => live.messages.find(({ type }) => type === 'error'),
      withinASecond,
    )
    expect(refusal.data).toMatchObject({ code: 'PROJECT_NOT_FOUND', projectId })
    await root.cards.create({ projectId, title: 'unheard' })
    live.send({ type: 'ping' })
    await live.message('pong')
    expect(live.messages.filter(({ type }) => type === 'card.created')).toHaveLength(1)
    expect(live.closed).toBeUndefined()
  })

  it('never leaves the server without a super_admin', async () => {
    const me = await root.auth.me()
    expect(codeOf(await demoteAllBut(me.id!))).toEqual([409, 'LAST_SUPER_ADMIN'])
    expect((await root.auth.me()).role).toBe('super_admin')
    expect(await root.users.update({ id: me.id!, name: 'Root', role: 'super_admin' })).toMatchObject({
      isSuperAdmin: true,
    })
  })
})

/** Demotes every other super_admin, then tries the last one. */
async function demoteAllBut(id: string): Promise<Reply> {
  for (const other of (await root.users.list({ limit: 100, search: 'person' })).users)
    if (other.isSuperAdmin && other.id !== id) await root.users.update({ id: other.id, role: 'user' })
  return users('PATCH', `/${id}`, rootToken, { role: 'admin' })
}

describe('deleting an account', () => {
  it('ends its tokens, keys, sockets, memberships and credentials immediately', async () => {
    const gone = await person()
    const { id: organizationId } = await root.organizations.create({ name: 'Org' })
    const { id: projectId } = await root.projects.create({ name: 'Shared', path: board.folder('shared') })
    await root.organizations.addMember({ id: organizationId, email: gone.email })
    await root.members.add({ id: projectId, email: gone.email })
    const { key } = await gone.client.keys.create({
      name: 'k',
      scope: 'project',
      projectId,
      permissions: ['cards.read'],
    })
    await gone.client.credentials.create({ name: 'c', provider: 'anthropic', apiKey: 'sk-very-secret' })
    await gone.client.settings.setUser({ theme: 'dark' })
    const live = [opened(await openSocket(board.url, gone.token)), opened(await openSocket(board.url, key))]
    await root.users.delete({ id: gone.id })
    expect(codeOf(await request('GET', '/api/auth/me', gone.token))).toEqual([401, 'UNAUTHENTICATED'])
    expect(codeOf(await request('GET', `/api/external/projects/${projectId}/stats`, key))).toEqual([
      401,
      'UNAUTHENTICATED',
    ])
    for (const socket of live) expect((await socket.untilClosed(withinASecond)).code).toBe(4001)
    expect((await root.members.list({ id: projectId })).map(({ email }) => email)).not.toContain(gone.email)
    expect((await root.organizations.listMembers({ id: organizationId })).map(({ email }) => email)).not.toContain(
      gone.email,
    )
    for (const table of [
      'sign_in_tokens',
      'api_keys',
      'organization_members',
      'project_members',
      'credentials',
      'user_settings',
    ])
      expect([
        table,
        await board.server.app.db.get(`SELECT count(*) AS total FROM ${table} WHERE user_id = ?`, [Number(gone.id)]),
      ]).toMatchObject([table, { total: 0 }])
    await expect(board.as().auth.login({ email: gone.email, password: gone.password })).rejects.toMatchObject({
      status: 401,
    })
  })

  it('passes projects, templates and organizations without another admin to the deleting super_admin, and reports it', async () => {
    const [gone, heir] = [await person(), await person('super_admin')]
    const project = await gone.client.projects.create({ name: 'Left', path: board.folder('left') })
    const { id: templateId } = await gone.client.templates.create({ name: 'Left', columns: [] })
    const { id: organizationId } = await gone.client.organizations.create({ name: 'Left' })
    await gone.client.members.add({ id: project.id, email: heir.email, role: 'viewer' })
    expect(await root.users.checkDelete({ id: gone.id })).toEqual({ ownedProjectsCount: 1 })
    const live = opened(await follow(board.url, heir.token, project.id))
    await heir.client.users.delete({ id: gone.id })
    expect((await live.message('project.updated')).data).toMatchObject({ id: project.id, ownerId: heir.id })
    expect(await heir.client.projects.get({ id: project.id })).toMatchObject({ ownerId: heir.id, role: 'admin' })
    expect(await heir.client.members.list({ id: project.id })).toEqual([])
    expect(await heir.client.templates.update({ id: templateId, name: 'Mine' })).toMatchObject({ name: 'Mine' })
    expect((await heir.client.organizations.list()).map(({ id, role }) => [id, role])).toContainEqual([
      organizationId,
      'admin',
    ])
  })

  it('passes projects to the first super_admin when an admin deletes', async () => {
    const [gone, admin] = [await person(), await person('admin')]
    const { id } = await gone.client.projects.create({ name: 'Left', path: board.folder('left') })
    await admin.client.users.delete({ id: gone.id })
    expect(await root.projects.get({ id })).toMatchObject({ ownerId: (await root.auth.me()).id })
  })

  it('cannot delete the calling user, not even with the local token', async () => {
    const admin = await person('admin')
    expect(codeOf(await users('DELETE', `/${admin.id}`, admin.token))).toEqual([409, 'CANNOT_DELETE_SELF'])
    const { id } = await root.auth.me()
    for (const token of [rootToken, board.token])
      expect(codeOf(await users('DELETE', `/${id}`, token))).toEqual([409, 'CANNOT_DELETE_SELF'])
  })
})

describe('resetting a password', () => {
  it('ends the sign-ins of the account and their sockets, and leaves its keys', async () => {
    const one = await person()
    const { id: projectId } = await one.client.projects.create({ name: 'Own', path: board.folder('own') })
    const { key } = await one.client.keys.create({
      name: 'k',
      scope: 'project',
      projectId,
      permissions: ['cards.read'],
    })
    const [signedIn, byKey] = [opened(await openSocket(board.url, one.token)), opened(await openSocket(board.url, key))]
    const { generatedPassword } = await root.users.resetPassword({ id: one.id })
    expect(generatedPassword).toMatch(shape)
    expect(codeOf(await request('GET', '/api/auth/me', one.token))).toEqual([401, 'UNAUTHENTICATED'])
    expect((await signedIn.untilClosed(withinASecond)).code).toBe(4001)
    await expect(board.as().auth.login({ email: one.email, password: one.password })).rejects.toMatchObject({
      status: 401,
    })
    expect((await board.as().auth.login({ email: one.email, password: generatedPassword })).user.id).toBe(one.id)
    byKey.send({ type: 'ping' })
    await byKey.message('pong')
  })

  it('is rejected for an account of an identity provider', async () => {
    const one = await person()
    await board.server.app.db.transaction(tx =>
      tx.run('UPDATE users SET auth_provider = ? WHERE id = ?', ['oidc', Number(one.id)]),
    )
    expect(codeOf(await users('POST', `/${one.id}/reset-password`, rootToken))).toEqual([409, 'NOT_LOCAL_AUTH'])
    expect((await one.client.auth.me()).id).toBe(one.id)
  })
})

describe('two concurrent requests', () => {
  const standing = async (...people: Person[]): Promise<Role[]> => {
    const rows = await Promise.all(
      people.map(({ id }) =>
        board.server.app.db.get<{ role: Role }>('SELECT role FROM users WHERE id = ?', [Number(id)]),
      ),
    )
    return rows.flatMap(row => (row ? [row.role] : []))
  }
  /** Two super_admins who are the only ones. */
  const pair = async (): Promise<[Person, Person]> => {
    const two: [Person, Person] = [await person('super_admin'), await person('super_admin')]
    await board.server.app.db.transaction(tx =>
      tx.run(
        `UPDATE users SET role = 'user' WHERE role = 'super_admin' AND id NOT IN (?, ?)`,
        two.map(({ id }) => Number(id)),
      ),
    )
    return two
  }
  const restore = () =>
    board.server.app.db.transaction(tx =>
      tx.run(`UPDATE users SET role = 'super_admin' WHERE email = 'root@example.org'`),
    )
  afterEach(restore)

  it('super_admins who delete each other: one survives', async () => {
    const [a, b] = await pair()
    const replies = await atOnce(board, [
      () => users('DELETE', `/${b.id}`, a.token),
      () => users('DELETE', `/${a.id}`, b.token),
    ])
    expect(replies.map(codeOf)).toContainEqual([204, undefined])
    expect(replies.map(({ status }) => status).sort()).toEqual([204, 401])
    expect(await standing(a, b)).toEqual(['super_admin'])
  })

  it('super_admins who demote each other: one survives', async () => {
    const [a, b] = await pair()
    const replies = await atOnce(board, [
      () => users('PATCH', `/${b.id}`, a.token, { role: 'user' }),
      () => users('PATCH', `/${a.id}`, b.token, { role: 'user' }),
    ])
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 403])
    expect((await standing(a, b)).sort()).toEqual(['super_admin', 'user'])
  })

  it('super_admins who step down: one remains', async () => {
    const [a, b] = await pair()
    const replies = await atOnce(
      board,
      [a, b].map(
        ({ id, token }) =>
          () =>
            users('PATCH', `/${id}`, token, { role: 'user' }),
      ),
    )
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409])
    expect(replies.map(codeOf)).toContainEqual([409, 'LAST_SUPER_ADMIN'])
    expect((await standing(a, b)).sort()).toEqual(['super_admin', 'user'])
  })

  it('admins who delete each other: one survives', async () => {
    const [a, b] = [await person('admin'), await person('admin')]
    const replies = await atOnce(board, [
      () => users('DELETE', `/${b.id}`, a.token),
      () => users('DELETE', `/${a.id}`, b.token),
    ])
    expect(replies.map(({ status }) => status).sort()).toEqual([204, 401])
    expect(await standing(a, b)).toEqual(['admin'])
  })

  it('an admin who is demoted while creating an account creates none', async () => {
    const admin = await person('admin')
    const replies = await atOnce(board, [
      () => users('PATCH', `/${admin.id}`, rootToken, { role: 'user' }),
      () => users('POST', '', admin.token, { email: 'late@example.org', name: 'Late', role: 'admin' }),
    ])
    expect(replies.map(({ status }) => status)).toEqual([200, 403])
    expect((await root.users.list({ search: 'late@' })).total).toBe(0)
  })
})
