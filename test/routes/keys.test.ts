import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { projectPermissions } from '../../src/contract/route.ts'
import { onLibsqlServer, startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

const dayMs = 86_400_000
let board: TestBoard
let now = Date.now()
let own: string
let foreign: string
let ownProject: string
let otherOwnProject: string
let foreignProject: string

beforeAll(async () => {
  board = await startBoard({ clock: () => new Date(now) })
  await board.as().auth.setup({ email: 'root@example.org', password: 'root password' })
  own = (await board.as().auth.register({ email: 'own@example.org', password: 'own password' })).token
  foreign = (await board.as().auth.register({ email: 'foreign@example.org', password: 'foreign password' })).token
  ownProject = (await board.as(own).projects.create({ name: 'own', path: board.folder('own') })).id
  otherOwnProject = (await board.as(own).projects.create({ name: 'other', path: board.folder('other') })).id
  foreignProject = (await board.as(foreign).projects.create({ name: 'foreign', path: board.folder('foreign') })).id
})
afterAll(() => board.close())

type Body = Record<string, unknown>
const request = (method: string, path: string, body?: Body, token = own) => board.request(method, path, { token, body })
const create = (body: Body, token = own) =>
  request('POST', '/api/keys', { name: 'k', scope: 'server', permissions: ['cards.read'], ...body }, token)
const newKey = async (
  body: Body = {},
  token = own,
): Promise<{ id: string; key: string; expiresAt: string; name: string }> => {
  const reply = await create(body, token)
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data
}
const codeOf = ({ status, body }: Reply) => [status, body?.error?.code]
const stats = (key: string, projectId = ownProject) =>
  board.request('GET', `/api/external/projects/${projectId}/stats`, { token: key })
const addCard = (key: string, projectId = ownProject) =>
  board.request('POST', `/api/external/projects/${projectId}/cards`, { token: key, body: { title: 'A card' } })

describe('creating a key', () => {
  it('shows the key once, and later its prefix and last four characters', async () => {
    const { key, ...shown } = await newKey({
      name: 'Nightly',
      permissions: ['cards.read', 'cards.create', 'cards.read'],
    })
    expect(key).toMatch(/^svc_ak_[0-9A-Za-z]{33}$/)
    expect(shown).toEqual({
      id: expect.stringMatching(/^\d+$/),
      name: 'Nightly',
      scope: 'server',
      organizationId: null,
      projectId: null,
      permissions: ['cards.read', 'cards.create'],
      prefix: 'svc_ak_',
      lastFour: key.slice(-4),
      createdAt: new Date(now).toISOString(),
      expiresAt: new Date(now + 90 * dayMs).toISOString(),
      lastUsedAt: null,
      app: null,
    })
    expect((await request('GET', `/api/keys/${shown.id}`)).body.data).toEqual(shown)
    const list = await request('GET', '/api/keys')
    expect(list.body.data).toContainEqual(shown)
    expect(list.text).not.toContain(key)
  })

  it('accepts an expiry within 366 days, as a time or in days', async () => {
    expect((await newKey({ expiresInDays: 1 })).expiresAt).toBe(new Date(now + dayMs).toISOString())
    expect((await newKey({ expiresInDays: 366 })).expiresAt).toBe(new Date(now + 366 * dayMs).toISOString())
    expect((await newKey({ expiresAt: new Date(now + 366 * dayMs).toISOString() })).expiresAt).toBe(
      new Date(now + 366 * dayMs).toISOString(),
    )
    for (const body of [
      { expiresInDays: 0 },
      { expiresInDays: 367 },
      { expiresInDays: 1.5 },
      { expiresAt: new Date(now).toISOString() },
      { expiresAt: new Date(now + 366 * dayMs + 1).toISOString() },
      { expiresAt: new Date(now - 1).toISOString() },
      { expiresAt: 'tomorrow' },
      { expiresAt: '9999-99-99T99:99:99Z' },
      { expiresAt: new Date(now + dayMs).toISOString(), expiresInDays: 2 },
    ])
      expect(codeOf(await create(body)), JSON.stringify(body)).toEqual([400, 'VALIDATION_FAILED'])
  })

  it('rejects contradictory fields', async () => {
    for (const body of [
      { permissions: [] },
      { permissions: ['everything'] },
      { scope: 'project' },
      { scope: 'organization' },
      { projectId: ownProject },
      { scope: 'project', projectId: ownProject, organizationId: '1' },
      { name: '' },
      { key: 'svc_ak_mine' },
    ])
      expect(codeOf(await create(body)), JSON.stringify(body)).toEqual([400, 'VALIDATION_FAILED'])
  })

  it('accepts server permissions only from a super_admin, for the whole server', async () => {
    const permissions = ['backups.read', 'cards.read']
    const refused = await create({ permissions })
    expect([codeOf(refused), refused.body.error.message]).toEqual([
      [403, 'FORBIDDEN'],
      "Only a super_admin's key can have backups.read.",
    ])
    const { id } = await newKey({ permissions }, board.token)
    for (const scope of [
      { scope: 'project', projectId: ownProject },
      { scope: 'organization', organizationId: '1' },
    ]) {
      const { body } = await create({ permissions, ...scope }, board.token)
      expect(body.error.details).toEqual([
        { path: 'permissions', message: 'backups.create and backups.read require scope server' },
      ])
    }
    expect((await request('POST', `/api/keys/${id}/rotate`, {}, board.token)).body.data.permissions).toEqual(
      permissions,
    )
  })

  it('treats a project of others as missing', async () => {
    const others = await create({ scope: 'project', projectId: foreignProject })
    const none = await create({ scope: 'project', projectId: '999999' })
    expect(codeOf(others)).toEqual([404, 'PROJECT_NOT_FOUND'])
    expect(others.text).toBe(none.text)
  })

  it('treats an organization of others as missing', async () => {
    const { id } = await board.as(foreign).organizations.create({ name: 'Theirs' })
    const others = await create({ scope: 'organization', organizationId: id })
    const none = await create({ scope: 'organization', organizationId: '999999' })
    expect(codeOf(others)).toEqual([404, 'ORGANIZATION_NOT_FOUND'])
    expect(others.text).toBe(none.text)
    await newKey({ scope: 'organization', organizationId: id }, foreign)
  })
})

describe('using a key', () => {
  it('requires the permission of the route', async () => {
    const reader = await newKey({ permissions: ['cards.read'] })
    const writer = await newKey({ permissions: ['cards.create'] })
    expect((await stats(reader.key)).status).toBe(200)
    expect(codeOf(await addCard(reader.key))).toEqual([403, 'INSUFFICIENT_PERMISSIONS'])
    expect((await addCard(writer.key)).status).toBe(201)
    expect(codeOf(await stats(writer.key))).toEqual([403, 'INSUFFICIENT_PERMISSIONS'])
    expect((await addCard((await newKey({ permissions: ['pipelines.trigger'] })).key)).status).toBe(201)
  })

  it('reaches the projects of its scope only, and others look missing', async () => {
    const { id: organizationId } = await board.as(own).organizations.create({ name: 'Ours' })
    const shared = (
      await board.as(own).projects.create({ name: 'shared', path: board.folder('shared'), organizationId })
    ).id
    const server = await newKey()
    const project = await newKey({ scope: 'project', projectId: ownProject })
    const organization = await newKey({ scope: 'organization', organizationId })
    const reached = async ({ key }: { key: string }) =>
      Promise.all(
        [ownProject, otherOwnProject, shared, foreignProject, '999999'].map(async id => (await stats(key, id)).status),
      )
    expect(await reached(server)).toEqual([200, 200, 200, 404, 404])
    expect(await reached(project)).toEqual([200, 404, 404, 404, 404])
    expect(await reached(organization)).toEqual([404, 404, 200, 404, 404])
    expect((await stats(project.key, otherOwnProject)).text).toBe((await stats(project.key, '999999')).text)
  })

  it('has no access to routes of accounts, keys or administration, with any permission', async () => {
    const { key, id } = await newKey({ permissions: [...projectPermissions] })
    for (const [method, path, body] of [
      ['GET', '/api/keys'],
      ['POST', '/api/keys', { name: 'more', scope: 'server', permissions: ['cards.read'] }],
      ['POST', `/api/keys/${id}/rotate`, {}],
      ['DELETE', `/api/keys/${id}`],
      ['GET', '/api/users/search?q=own'],
      ['POST', '/api/projects', { name: 'p', path: '/' }],
      ['GET', '/api/user/settings'],
      ['POST', '/api/auth/logout'],
    ] as Array<[string, string, Body?]>)
      expect(codeOf(await request(method, path, body, key)), path).toEqual([403, 'INSUFFICIENT_PERMISSIONS'])
    expect((await stats(key)).status).toBe(200)
  })

  it('returns its own details with any permission, and nothing else', async () => {
    const { key, name, expiresAt } = await newKey({ scope: 'project', projectId: ownProject })
    expect(await board.as(key).auth.me()).toEqual({
      ...(await board.as(own).auth.me()),
      token: {
        kind: 'key',
        name,
        scope: 'project',
        organizationId: null,
        projectId: ownProject,
        cardId: null,
        permissions: ['cards.read'],
        expiresAt,
      },
    })
  })

  it('has access to a client route with its permission', async () => {
    const { key } = await newKey({ permissions: ['boards.read'] })
    expect((await board.request('GET', `/api/projects/${ownProject}/boards`, { token: key })).status).toBe(200)
    expect(codeOf(await board.request('GET', `/api/projects/${ownProject}`, { token: key }))).toEqual([
      403,
      'INSUFFICIENT_PERMISSIONS',
    ])
  })

  it('is required for the external routes', async () => {
    expect(codeOf(await stats(own))).toEqual([401, 'UNAUTHENTICATED'])
    expect(codeOf(await board.request('GET', `/api/external/projects/${ownProject}/stats`, { token: null }))).toEqual([
      401,
      'UNAUTHENTICATED',
    ])
  })

  it('records its last use, at most once a minute', async () => {
    const [watched, other] = [await newKey(), await newKey()]
    const lastUsedAt = async ({ id }: { id: string }) => (await board.as(own).keys.get({ id })).lastUsedAt
    const usedAt = new Date(now).toISOString()
    await stats(watched.key)
    await eventually('the first use', async () => (await lastUsedAt(watched)) === usedAt)
    now += 59_999
    await stats(watched.key)
    await stats(other.key)
    await eventually('the use of the other key, which is written after', () => lastUsedAt(other))
    expect(await lastUsedAt(watched)).toBe(usedAt)
    now += 1
    await stats(watched.key)
    await eventually('the use a minute later', async () => (await lastUsedAt(watched)) === new Date(now).toISOString())
  })

  it('records its use also if the server stops right after it', async () => {
    const first = await startBoard()
    const { id: projectId } = await first.client.projects.create({ name: 'p', path: first.folder('p') })
    const { id, key } = await first.client.keys.create({ name: 'k', scope: 'server', permissions: ['cards.read'] })
    expect((await first.request('GET', `/api/external/projects/${projectId}/stats`, { token: key })).status).toBe(200)
    await first.server.stop()
    const second = await startBoard({ dataDir: first.dataDir })
    expect((await second.client.keys.get({ id })).lastUsedAt).not.toBeNull()
    await second.close()
    await first.close()
  })
})

describe('a key ends', () => {
  it('when it expires', async () => {
    const { key } = await newKey({ expiresInDays: 1 })
    now += dayMs - 1
    expect((await stats(key)).status).toBe(200)
    now += 1
    expect(codeOf(await stats(key))).toEqual([401, 'TOKEN_EXPIRED'])
  })

  it('when it is revoked, on the next request, and disappears from the list', async () => {
    const { key, id } = await newKey()
    const ended: unknown[] = []
    const stop = board.server.app.identity.onRevoked(each => ended.push(each))
    expect((await stats(key)).status).toBe(200)
    expect((await request('DELETE', `/api/keys/${id}`)).status).toBe(204)
    // On a shared database a daemon also receives its own revocations.
    expect(onLibsqlServer ? ended.slice(0, 1) : ended).toEqual([{ keyId: Number(id) }])
    stop()
    expect(codeOf(await stats(key))).toEqual([401, 'UNAUTHENTICATED'])
    expect(codeOf(await request('GET', `/api/keys/${id}`))).toEqual([404, 'KEY_NOT_FOUND'])
    expect(codeOf(await request('DELETE', `/api/keys/${id}`))).toEqual([404, 'KEY_NOT_FOUND'])
  })

  it('immediately when it is rotated without grace', async () => {
    const old = await newKey({ name: 'rotated', permissions: ['cards.read'], expiresInDays: 7 })
    const reply = await request('POST', `/api/keys/${old.id}/rotate`, {})
    expect(reply.status).toBe(201)
    const { id, key, lastFour, createdAt, lastUsedAt, ...same } = reply.body.data
    expect(id).not.toBe(old.id)
    expect(same).toEqual({
      name: 'rotated',
      scope: 'server',
      organizationId: null,
      projectId: null,
      permissions: ['cards.read'],
      prefix: 'svc_ak_',
      expiresAt: old.expiresAt,
      app: null,
    })
    expect([lastFour, createdAt, lastUsedAt]).toEqual([key.slice(-4), new Date(now).toISOString(), null])
    expect((await stats(key)).status).toBe(200)
    expect(codeOf(await stats(old.key))).toEqual([401, 'TOKEN_EXPIRED'])
    expect(codeOf(await request('POST', `/api/keys/${old.id}/rotate`, {}))).toEqual([409, 'CONFLICT'])
  })

  it('after the grace when it is rotated with one, but not later than its own expiry', async () => {
    const old = await newKey({ expiresInDays: 1 })
    const { key } = (await request('POST', `/api/keys/${old.id}/rotate`, { graceSecs: 60 })).body.data
    now += 59_999
    expect((await stats(old.key)).status).toBe(200)
    now += 1
    expect(codeOf(await stats(old.key))).toEqual([401, 'TOKEN_EXPIRED'])
    expect((await stats(key)).status).toBe(200)
    const brief = await newKey({ expiresInDays: 1 })
    await request('POST', `/api/keys/${brief.id}/rotate`, { graceSecs: 7 * 86_400 })
    expect((await board.as(own).keys.get({ id: brief.id })).expiresAt).toBe(brief.expiresAt)
  })

  it('when its owner loses access to the project', async () => {
    const project = (await board.as(foreign).projects.create({ name: 'lent', path: board.folder('lent') })).id
    const me = await board.as(own).auth.me()
    const member = (sql: string) =>
      board.server.app.db.transaction(async tx => {
        await tx.run(sql, [Number(project), Number(me.id)])
      })
    await member(`INSERT INTO project_members VALUES (?, ?, 'viewer', '2026-01-01T00:00:00.000Z')`)
    const { key } = await newKey({ scope: 'project', projectId: project, permissions: ['cards.read', 'cards.create'] })
    expect((await stats(key, project)).status).toBe(200)
    expect(codeOf(await addCard(key, project))).toEqual([403, 'FORBIDDEN'])
    await member('DELETE FROM project_members WHERE project_id = ? AND user_id = ?')
    expect(codeOf(await stats(key, project))).toEqual([404, 'PROJECT_NOT_FOUND'])
  })
})

describe('the keys of others', () => {
  it('are treated as missing, also for a super_admin', async () => {
    const { id, key } = await newKey({}, foreign)
    const none = await request('GET', '/api/keys/999999')
    for (const token of [own, board.token]) {
      for (const [method, path, body] of [
        ['GET', ''],
        ['DELETE', ''],
        ['POST', '/rotate', {}],
      ] as Array<[string, string, Body?]>) {
        const reply = await request(method, `/api/keys/${id}${path}`, body, token)
        expect(codeOf(reply)).toEqual([404, 'KEY_NOT_FOUND'])
        expect(reply.text).toBe(none.text)
      }
      expect(
        (await request('GET', '/api/keys', undefined, token)).body.data.map((each: { id: string }) => each.id),
      ).not.toContain(id)
    }
    expect((await stats(key, foreignProject)).status).toBe(200)
  })
})
