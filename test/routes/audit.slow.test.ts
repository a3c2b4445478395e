import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { periodicJobs } from '../../daemon/process/periodicJobs.ts'
import type { AuditEntry } from '../../src/contract/server/audit.ts'
import { projectPermissions } from '../../src/contract/route.ts'
import { rows } from '../support/contract/examples.ts'
import { onLibsqlServer, startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let root: string
let projectId: string
let nowMs = Date.parse('2026-03-01T10:00:00.000Z')
const password = 'a long password'

beforeAll(async () => {
  board = await startBoard({ clock: () => new Date(nowMs) })
  root = (await board.as().auth.setup({ email: 'root@example.org', password })).token
  projectId = (await board.as(root).projects.create({ name: 'Watched', path: board.folder('watched') })).id
})
afterAll(() => board.close())

const list = async (query: Parameters<TestBoard['client']['audit']['list']>[0] = {}): Promise<AuditEntry[]> =>
  (await board.client.audit.list({ limit: 1000, ...query })).items
const newest = async (action: string) => (await list({ action }))[0]
const lastId = async () => Math.max(0, ...(await list()).map(({ id }) => Number(id)))
const since = (id: number) => list({ after: id })
const login = (email: string, secret = password, headers: Record<string, string> = {}) =>
  board.request('POST', '/api/auth/login', { token: null, body: { email, password: secret }, headers })

/** Changes that the audit log omits, with the reason. A new route that changes something must be audited, or be listed here. */
const unaudited: Record<string, string[]> = {
  'An app that is not authorized has no permissions. Its authorization and the end of that are audited.': [
    'oauth.register, oauth.token, oauth.revoke',
  ],
  'They request access and grant nothing.': ['oauth.request, oauth.refuse'],
  'They change the board and not the rights of a user. The card’s activity and the events report them.': [
    'boards.create, boards.reorder, boards.update, columns.create, columns.reorder, columns.update',
    'cards.update, cards.restore, cards.view, cards.setWatching, cards.archive, cards.unarchive, cards.complete, cards.setAutoMode, cards.setPipeline',
    'external.archive, projects.reorder, projects.opened, projects.markAllRead, gates.reorder, scripts.reorder, attachments.create, comments.create, comments.update',
    'preSessions.accept, panelStates.set, panelStates.delete, templates.create, templates.update, organizations.update',
  ],
  'They stop work or query work that is already running.': [
    'agents.cancel, external.cancelAgent, preSessions.cancel, proofs.cancel, scripts.cancel, agents.summary, previews.stop',
  ],
  'The token is in the body, so that logs and histories of addresses do not contain it. Nothing changes.': [
    'invitations.lookup',
  ],
  'They test existing settings and change nothing.': [
    'oidc.test, logs.testExport, credentials.verify, webhooks.test, webhooks.redeliver',
  ],
  'They are personal: display settings, the inbox, and drafts that only their author sees.': [
    'settings.setUser, settings.setShortcuts, reviews.putDraft, inbox.mark',
  ],
  'Each MCP tool declares this itself.': ['mcp.call'],
  'A forge only reports that there are changes to fetch. The rest of the delivery is not trusted.': ['forges.deliver'],
}

describe('the contract', () => {
  it('audits every row that changes something, or lists the reason why not', () => {
    const listed = Object.values(unaudited).flat().join(', ').split(', ')
    const changing = rows.filter(({ route }) => route.method !== 'GET').map(({ name }) => name)
    const audited = rows.filter(({ route }) => route.audited).map(({ name }) => name)
    expect(changing.filter(name => !audited.includes(name)).sort()).toEqual([...listed].sort())
    // Downloads of all the server's data are reads, but audited.
    expect(audited.filter(name => !changing.includes(name)).sort()).toEqual([
      'backups.download',
      'oidc.callback',
      'transfers.exportProject',
    ])
  })

  it('has no route that changes the log', () => {
    expect(rows.filter(({ route }) => route.path.startsWith('/api/audit')).map(({ route }) => route.method)).toEqual([
      'GET',
    ])
  })
})

describe('an entry', () => {
  it('states who did what to which object, with which rights and from where', async () => {
    const { id, token } = await board
      .as(root)
      .keys.create({ name: 'ci', scope: 'project', projectId, permissions: [...projectPermissions] })
      .then(({ id, key }) => ({ id, token: key }))
    const made = await newest('keys.create')
    expect(made).toMatchObject({
      outcome: 'ok',
      actor: { kind: 'user', id: '1', name: 'root@example.org' },
      action: 'keys.create',
      target: { kind: 'key', id },
      via: { kind: 'sign-in', id: expect.stringMatching(/^\d+$/) },
      address: expect.stringMatching(/127\.0\.0\.1$/),
      detail: { scope: 'project', projectId: Number(projectId), permissions: projectPermissions.join(', ') },
      count: 1,
    })
    expect(JSON.stringify(await list())).not.toContain(token)

    const script = await board.as(token).scripts.create({ projectId, name: 'build', command: 'echo canary-command' })
    await board.as(token).scripts.run({ projectId, scriptId: script.id })
    expect(await newest('scripts.run')).toMatchObject({
      actor: { kind: 'user', name: 'root@example.org' },
      target: { kind: 'script', id: script.id },
      via: { kind: 'key', id },
      detail: { projectId: Number(projectId) },
    })
    const local = await board.client.projects.create({ name: 'By hand', path: board.folder('by-hand') })
    expect(await newest('projects.create')).toMatchObject({
      target: { id: local.id },
      via: { kind: 'local', id: null },
    })
    expect(JSON.stringify(await list())).not.toContain('canary-command')
  })

  it('is written for a sign-in, a sign-out and a new account', async () => {
    const { token, user } = await board.as().auth.register({ email: 'ada@example.org', password })
    expect(await newest('auth.register')).toMatchObject({ actor: { id: user.id, name: 'ada@example.org' } })
    await login('ada@example.org')
    expect(await newest('auth.login')).toMatchObject({ target: { kind: 'user', id: user.id }, outcome: 'ok' })
    await board.as(token).auth.logout()
    expect(await newest('auth.logout')).toMatchObject({ actor: { id: user.id }, target: { kind: 'sign-in' } })
    await board.as(root).users.update({ id: user.id, role: 'admin' })
    expect(await newest('users.update')).toMatchObject({
      target: { kind: 'user', id: user.id },
      detail: { role: 'admin' },
    })
  })

  it("is written for a read that downloads all the server's data", async () => {
    await board.as(root).transfers.exportProject({ id: projectId })
    expect(await newest('transfers.exportProject')).toMatchObject({
      actor: { kind: 'user', name: 'root@example.org' },
      target: { kind: 'project', id: projectId },
    })
  })

  it('is written for an action that starts an agent or a command, and not for a card that only moves', async () => {
    const columns = await board.client.columns.list({ projectId })
    const [backlog, active] = ['backlog', 'active'].map(
      type => columns.find(({ columnType }) => columnType === type)!.id,
    ) as [string, string]
    const before = await lastId()
    const card = await board.as(root).cards.create({ projectId, title: 'Plain', columnId: backlog })
    await board.as(root).cards.move({ projectId, cardId: card.id, columnId: active })
    expect(await since(before)).toEqual([])
    const terminal = await board
      .as(root)
      .cards.create({ projectId, title: 'Shell', kind: 'terminal', command: 'true', columnId: active })
    expect((await since(before)).map(({ action, target, detail }) => [action, target?.id, detail.kind])).toEqual([
      ['cards.create', terminal.id, 'terminal'],
    ])
  })

  it("is written for what an agent does with its tools, under the agent's name", async () => {
    const columns = await board.client.columns.list({ projectId })
    const { id: cardId } = await board.client.cards.create({
      projectId,
      title: 'Agent',
      columnId: columns.find(({ columnType }) => columnType === 'active')!.id,
      deferred: true,
    })
    const { token } = await board.as(root).agents.token({ projectId, cardId })
    await board.request('POST', '/api/mcp', {
      token,
      headers: { accept: 'application/json, text/event-stream' },
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'add_monitor', arguments: { command: 'true', intervalSecs: 3600, allowUnsandboxed: true } },
      },
    })
    expect(await newest('monitors.create')).toMatchObject({
      actor: { kind: 'agent', id: cardId, name: `agent of card ${cardId}` },
      target: { kind: 'monitor', id: expect.stringMatching(/^\d+$/) },
      via: { kind: 'agent' },
      detail: { cardId: Number(cardId) },
    })
    expect(await newest('agents.token')).toMatchObject({ target: { kind: 'card', id: cardId } })
  })

  it('is written once for one Idempotency-Key', async () => {
    const before = await lastId()
    const ask = () =>
      board.request('POST', '/api/organizations', {
        token: root,
        body: { name: 'Twice' },
        headers: { 'idempotency-key': 'organization-1' },
      })
    const [first, second] = [await ask(), await ask()]
    expect(second.body).toEqual(first.body)
    expect((await since(before)).map(({ action, target }) => [action, target?.id])).toEqual([
      ['organizations.create', first.body.data.id],
    ])
  })

  it('is not written for a failed request', async () => {
    const before = await lastId()
    const asked = [
      ['POST', '/api/keys', { name: 'x', scope: 'project', projectId: '999', permissions: ['cards.read'] }],
      ['DELETE', '/api/projects/999', undefined],
      ['POST', '/api/backups/board-2020-01-01T00-00-00.000Z.tar.gz/restore', {}],
      ['PATCH', '/api/admin/users/1', { role: 'user' }],
      ['POST', '/api/admin/users', { email: 'ada@example.org', name: 'Ada', role: 'user' }],
      ['POST', `/api/projects/${projectId}/scripts/999/run`, {}],
    ] as const
    for (const [method, path, body] of asked)
      expect((await board.request(method, path, { token: root, body })).status, path).toBeGreaterThanOrEqual(400)
    expect(await since(before)).toEqual([])
  })

  it('is written before the response, and not written if the disk rejects the change', async () => {
    const { db } = board.server.app
    const before = await lastId()
    const { transaction } = db
    db.transaction = work =>
      transaction(async tx => {
        await work(tx)
        throw Object.assign(new Error('no room'), { code: 'ENOSPC' })
      })
    const refused = await board.request('POST', '/api/organizations', { token: root, body: { name: 'Refused' } })
    db.transaction = transaction
    expect([refused.status, await since(before)]).toEqual([503, []])
  })
})

describe('reading the log', () => {
  it('requires a super_admin', async () => {
    const { token } = await board.as().auth.register({ email: 'bob@example.org', password })
    const admin = await board.as().auth.register({ email: 'admin@example.org', password })
    await board.as(root).users.update({ id: admin.user.id, role: 'admin' })
    for (const [each, status] of [
      [token, 403],
      [admin.token, 403],
      [null, 401],
      [root, 200],
    ] as const)
      expect((await board.request('GET', '/api/audit', { token: each })).status).toBe(status)
  })

  it('returns all pages once, the newest first', async () => {
    for (let number = 0; number < 7; number++) {
      nowMs += 1000
      await board.as(root).organizations.create({ name: `Page ${number}` })
    }
    const whole = await list()
    const paged: AuditEntry[] = []
    for (let cursor: string | undefined; ;) {
      const { items, nextCursor } = await board.client.audit.list({ limit: 3, cursor: cursor as never })
      paged.push(...items)
      if (nextCursor === null) break
      cursor = nextCursor
    }
    expect(paged).toEqual(whole)
    expect(whole.map(({ at }) => at)).toEqual(
      whole
        .map(({ at }) => at)
        .toSorted()
        .toReversed(),
    )
    expect((await board.request('GET', '/api/audit?cursor=1')).status).toBe(400)
  })

  it('filters by action, actor, time and words', async () => {
    expect(new Set((await list({ action: 'keys' })).map(({ action }) => action))).toEqual(new Set(['keys.create']))
    expect(await list({ action: 'key' })).toEqual([])
    expect((await list({ actor: 'ADA@' })).every(({ actor }) => actor.name === 'ada@example.org')).toBe(true)
    expect((await list({ actor: 'ada@' })).length).toBeGreaterThan(1)
    expect((await list({ search: 'Script 1' })).map(({ action }) => action)).toContain('scripts.run')
    const until = new Date(nowMs).toISOString()
    expect((await list({ since: until })).length + (await list({ until })).length).toBe((await list()).length)
  })
})

describe('failed sign-ins', () => {
  it('are one entry per address and minute, with their number and the account', async () => {
    nowMs += 120_000
    const before = await lastId()
    for (let attempt = 0; attempt < 8; attempt++)
      expect((await login('root@example.org', 'canary-wrong-password')).status).toBe(401)
    await board.server.app.audit.close()
    const failed = await since(before)
    expect(failed).toEqual([
      expect.objectContaining({
        outcome: 'failed',
        action: 'auth.login',
        actor: { kind: 'nobody', id: null, name: null },
        target: { kind: 'user', id: '1' },
        detail: { code: 'INVALID_CREDENTIALS' },
        count: 8,
      }),
    ])
    expect(JSON.stringify(await list())).not.toContain('canary-wrong-password')
    nowMs += 120_000
    await login('nobody@example.org', 'wrong')
    expect((await since(before)).map(({ count, target }) => [count, target?.id])).toEqual([
      [8, '1'],
      [1, null],
    ])
  })

  it('fill no disk, from any number of addresses', async () => {
    const proxied = await startBoard({ trustProxy: true, clock: () => new Date(nowMs) })
    try {
      await proxied.as().auth.setup({ email: 'root@example.org', password })
      for (let number = 0; number < 120; number++)
        await proxied.server.app.audit.recordFailure({
          action: 'auth.login',
          address: `203.0.113.${number}`,
          userId: null,
          code: 'INVALID_CREDENTIALS',
        })
      await proxied.request('POST', '/api/auth/login', {
        token: null,
        body: { email: 'root@example.org', password: 'wrong' },
        headers: { 'x-forwarded-for': '198.51.100.7' },
      })
      await proxied.server.app.audit.close()
      const { items } = await proxied.client.audit.list({ outcome: 'failed', limit: 1000 })
      expect([items.length, items.reduce((sum, { count }) => sum + count, 0)]).toEqual([51, 121])
      expect(items[0]).toMatchObject({ address: null, count: 71 })
    } finally {
      await proxied.close()
    }
  })

  it('and all other entries are deleted after 400 days', async () => {
    const kept = await lastId()
    nowMs += 401 * 86_400_000
    await board.as().auth.login({ email: 'root@example.org', password })
    const prune = periodicJobs(board.server.app).find(({ name }) => name.includes('audit log'))!
    await prune.run(new AbortController().signal)
    expect((await list()).every(({ id }) => Number(id) > kept)).toBe(true)
    expect(await list()).not.toEqual([])
  })
})

describe.skipIf(onLibsqlServer)('a restore', () => {
  it('keeps the entries that are newer than the backup, and adds one for itself', async () => {
    const token = (await board.as().auth.login({ email: 'root@example.org', password })).token
    const { filename } = await board.as(token).backups.create()
    const { id } = await board.as(token).organizations.create({ name: 'Later' })
    const before = await list()
    expect((await board.request('POST', `/api/backups/${filename}/restore`, { token })).status).toBe(200)
    const [restored, ...others] = await list()
    expect(others).toEqual(before)
    expect(restored).toMatchObject({
      action: 'backups.restore',
      actor: { kind: 'user', name: 'root@example.org' },
      target: { kind: 'backup', id: filename },
    })
    expect(others[0]).toMatchObject({ action: 'organizations.create', target: { id } })
    // The second restore is of a log that has grown since.
    expect((await board.request('POST', `/api/backups/${filename}/restore`)).status).toBe(200)
    expect((await list()).slice(1)).toEqual([restored, ...others])
  })

  it("keeps both logs if another board's backup is restored", async () => {
    const other = await startBoard()
    try {
      await other.client.organizations.create({ name: 'Elsewhere' })
      const theirs = (await other.client.audit.list({ limit: 1000 })).items
      const { filename } = await other.client.backups.create()
      const file = Buffer.from(
        await (
          await fetch(`${other.url}/api/backups/${filename}`, { headers: { authorization: `Bearer ${other.token}` } })
        ).arrayBuffer(),
      )
      const form = new FormData()
      form.append('file', new Blob([file]), filename)
      const uploaded = await fetch(`${board.url}/api/backups/upload`, {
        method: 'POST',
        headers: { authorization: `Bearer ${board.token}` },
        body: form,
      })
      const { data } = (await uploaded.json()) as { data: { filename: string } }
      const ours = await list()
      await board.request('POST', `/api/backups/${data.filename}/restore`)
      const all = (await list()).map(({ id: _, ...entry }) => entry)
      for (const { id: _, ...entry } of [...ours, ...theirs]) expect(all).toContainEqual(entry)
    } finally {
      await other.close()
    }
  })
})
