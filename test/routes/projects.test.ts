import { defaultForge } from '../../src/contract/forges/forge.ts'
import { defaultSandbox } from '../../src/contract/agents/sandbox.ts'
import { defaultWorktree } from '../../src/contract/projects/worktree.ts'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let own: string
let foreign: string
beforeAll(async () => {
  board = await startBoard()
  await board.as().auth.setup({ email: 'root@example.org', password: 'root password' })
  own = (await board.as().auth.register({ email: 'own@example.org', password: 'own password' })).token
  foreign = (await board.as().auth.register({ email: 'foreign@example.org', password: 'foreign password' })).token
})
afterAll(() => board.close())

const fails = (promise: Promise<unknown>, status: number, code: string) =>
  expect(promise).rejects.toMatchObject({ status, code })
const create = (name: string, fields: { path?: string; organizationId?: string } = {}, token = own) =>
  board.as(token).projects.create({ name, path: board.dataDir, ...fields })

describe('creating a project', () => {
  it('adds hosts to those that its agents can reach, concurrently, without duplicates and up to the limit', async () => {
    const { id } = await create('Hosts')
    const { update, get } = board.as(own).projects
    const added = ['a.example.org', 'b.example.org', 'c.example.org', 'a.example.org']
    await Promise.all(added.map(host => update({ id, sandbox: { addHosts: [host] } })))
    expect((await get({ id })).sandbox.hosts.toSorted()).toEqual(added.slice(0, 3))
    const many = Array.from({ length: 198 }, (_, at) => `h${at}.example.org`)
    await expect(update({ id, sandbox: { addHosts: many } })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      details: [{ path: 'sandbox.addHosts', message: 'would exceed the maximum of 200 hosts' }],
    })
    await expect(update({ id, sandbox: { addHosts: ['*'] } })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
    expect(
      (await update({ id, sandbox: { hosts: ['d.example.org'], addHosts: ['e.example.org'] } })).sandbox.hosts,
    ).toEqual(['d.example.org', 'e.example.org'])
  })

  it('keeps hosts in one normalized spelling', async () => {
    const { id } = await create('Spellings')
    const hosts = ['EXAMPLE.org', 'example.org.', '0x7f.1', '::1', '[::1]', 'Bücher.example', 'example.org:8443']
    const kept = ['example.org', '127.0.0.1', '[::1]', 'xn--bcher-kva.example', 'example.org:8443']
    const { update } = board.as(own).projects
    expect((await update({ id, sandbox: { hosts } })).sandbox.hosts).toEqual(kept)
    expect((await update({ id, sandbox: { addHosts: hosts } })).sandbox.hosts).toEqual(kept)
  })

  it('creates its default board with the columns of Kanban', async () => {
    const { id, ownerId, createdAt, updatedAt, ...project } = await create('New')
    expect(project).toEqual({
      name: 'New',
      path: board.dataDir,
      repositories: [],
      organizationId: null,
      credentialId: null,
      agent: null,
      profile: null,
      model: null,
      mode: null,
      effort: null,
      approvalPolicy: { default: 'ask', allow: [], refuse: [] },
      usageLimits: { onLimit: 'stop', next: [] },
      onSilence: 'wait',
      agentSlots: null,
      sessionCards: 50,
      gateRounds: 3,
      land: 'manual',
      afterMerge: { moveToDone: false, removeWorktree: false },
      forge: defaultForge,
      sandbox: defaultSandbox,
      worktree: { ...defaultWorktree, copiedFiles: [] },
      role: 'admin',
      unreadCount: 0,
      lastOpenedAt: null,
      accepted: true,
    })
    expect([ownerId, updatedAt]).toEqual([(await board.as(own).auth.me()).id, createdAt])
    const boards = await board.as(own).boards.list({ projectId: id })
    expect(boards).toEqual([{ id: expect.any(String), name: 'Board', projectId: id, position: 0, createdAt }])
    expect(
      (await board.as(own).columns.list({ projectId: id })).map(({ name, columnType, position, boardId }) => [
        name,
        columnType,
        position,
        boardId,
      ]),
    ).toEqual([
      ['Backlog', 'backlog', 0, boards[0]!.id],
      ['In Progress', 'active', 1, boards[0]!.id],
      ['Done', 'done', 2, boards[0]!.id],
    ])
  })

  it('requires an absolute path of an existing folder', async () => {
    const file = join(board.folder('paths'), 'file')
    writeFileSync(file, '')
    for (const path of ['relative', './here', '~', '..', relative(process.cwd(), board.dataDir)])
      await fails(create('x', { path }), 400, 'PATH_NOT_ABSOLUTE')
    for (const path of [join(board.dataDir, 'nothing'), file, `/${'x'.repeat(300)}`])
      await fails(create('x', { path }), 400, 'PATH_NOT_FOUND')
    for (const path of ['', 'a\0b', `/${'x'.repeat(4096)}`])
      await fails(create('x', { path }), 400, 'VALIDATION_FAILED')
    expect((await create('x', { path: `${board.folder('kept')}/../kept/` })).path).toBe(board.folder('kept'))
  })

  it('can be in an organization of the user only', async () => {
    const { id: organizationId } = await board.as(own).organizations.create({ name: 'Mine' })
    const project = await create('Shared', { organizationId })
    expect((await board.as(own).projects.list({ organizationId })).map(({ id }) => id)).toEqual([project.id])
    await fails(create('x', { organizationId }, foreign), 404, 'ORGANIZATION_NOT_FOUND')
    await fails(board.as(own).organizations.delete({ id: organizationId }), 409, 'ORGANIZATION_HAS_PROJECTS')
    expect((await board.as(own).projects.update({ id: project.id, organizationId: null })).organizationId).toBeNull()
    await board.as(own).organizations.delete({ id: organizationId })
  })
})

describe('the list of projects', () => {
  it('shows to a user the own ones, to an administrator all, each in the own order', async () => {
    const theirs = await create('Theirs', {}, foreign)
    const mine = await board.as(own).projects.list()
    expect(mine.map(({ id }) => id)).not.toContain(theirs.id)
    const all = await board.client.projects.list()
    expect(all.length).toBe(mine.length + 1)
    const ids = mine.map(({ id }) => id).reverse()
    expect((await board.as(own).projects.reorder({ ids })).map(({ id }) => id)).toEqual(ids)
    expect((await board.as(own).projects.list()).map(({ id }) => id)).toEqual(ids)
    expect((await board.client.projects.list()).map(({ id }) => id)).toEqual(all.map(({ id }) => id))
    const late = await create('Late')
    expect((await board.as(own).projects.list()).at(-1)!.id).toBe(late.id)
  })

  it('is ordered by all its ids exactly once', async () => {
    const ids = (await board.as(own).projects.list()).map(({ id }) => id)
    const theirs = (await board.as(foreign).projects.list())[0]!.id
    for (const wrong of [
      [],
      ids.slice(1),
      [...ids, ids[0]!],
      [...ids, theirs],
      [...ids.slice(1), theirs],
      [...ids.slice(1), ids[1]!],
    ])
      await fails(board.as(own).projects.reorder({ ids: wrong }), 400, 'INVALID_ORDER')
    expect((await board.as(own).projects.list()).map(({ id }) => id)).toEqual(ids)
  })
})

describe('a project', () => {
  it('can be renamed and moved to another folder', async () => {
    const { id } = await create('Old')
    const path = board.folder('elsewhere')
    expect(await board.as(own).projects.update({ id, name: 'Renamed', path })).toMatchObject({
      name: 'Renamed',
      path,
      role: 'admin',
    })
    await fails(board.as(own).projects.update({ id, path: 'here' }), 400, 'PATH_NOT_ABSOLUTE')
    expect((await board.as(own).projects.update({ id })).name).toBe('Renamed')
  })

  it('records when the caller opened it', async () => {
    const { id } = await create('Opened')
    expect((await board.request('PATCH', `/api/projects/${id}/last-opened`, { token: own })).status).toBe(204)
    expect((await board.as(own).projects.get({ id })).lastOpenedAt).toMatch(/^\d{4}-.*Z$/)
    expect((await board.client.projects.get({ id })).lastOpenedAt).toBeNull()
  })

  it('counts unread cards until all are marked as read', async () => {
    const { id } = await create('Unread')
    const { key } = await board
      .as(own)
      .keys.create({ name: 'k', scope: 'project', projectId: id, permissions: ['cards.create'] })
    for (let i = 0; i < 3; i++)
      await board.request('POST', `/api/external/projects/${id}/cards`, { token: key, body: { title: 'new' } })
    await board.as(own).cards.create({ projectId: id, title: "one's own is read" })
    expect((await board.as(own).projects.get({ id })).unreadCount).toBe(3)
    await board.as(own).projects.markAllRead({ id })
    expect((await board.as(own).projects.get({ id })).unreadCount).toBe(0)
    expect((await board.as(own).cards.list({ projectId: id })).some(({ unread }) => unread)).toBe(false)
  })

  it('counts its cards by status and column', async () => {
    const { id } = await create('Counted')
    const [backlog, active] = await board.as(own).columns.list({ projectId: id })
    for (const columnId of [backlog!.id, backlog!.id, active!.id])
      await board.as(own).cards.create({ projectId: id, title: 't', columnId })
    expect(await board.as(own).projects.stats({ id })).toMatchObject({
      total: 3,
      byStatus: { idle: 3 },
      tokens: { total: 0, sessions: 0 },
      byColumn: [
        { columnId: backlog!.id, name: 'Backlog', columnType: 'backlog', count: 2 },
        { columnId: active!.id, count: 1 },
        { name: 'Done', count: 0 },
      ],
    })
  })

  it('is deleted with everything in it, and its folder remains', async () => {
    const path = board.folder('stays')
    const { id: projectId } = await create('Gone', { path })
    const { id: cardId } = await board.as(own).cards.create({ projectId, title: 't' })
    const { key } = await board
      .as(own)
      .keys.create({ name: 'k', scope: 'project', projectId, permissions: ['cards.read'] })
    expect((await board.request('DELETE', `/api/projects/${projectId}`, { token: own })).status).toBe(204)
    expect(existsSync(path)).toBe(true)
    const { projects, boards, columns, cards } = board.as(own)
    await Promise.all(
      [
        projects.get({ id: projectId }),
        boards.list({ projectId }),
        columns.list({ projectId }),
        cards.list({ projectId }),
        projects.delete({ id: projectId }),
      ].map(call => fails(call, 404, 'PROJECT_NOT_FOUND')),
    )
    await fails(board.as(own).cards.getFlat({ id: cardId }), 404, 'CARD_NOT_FOUND')
    expect([401, 404]).toContain(
      (await board.request('GET', `/api/external/projects/${projectId}/stats`, { token: key })).status,
    )
  })

  it('lists the files that Git tracks, by their plain names', async () => {
    const path = board.folder('tracked')
    const names = ['a b.txt', 'ä ü.txt', 'deep/er/file', 'line\nbreak', 'quote".txt']
    mkdirSync(join(path, 'deep/er'), { recursive: true })
    for (const name of [...names, 'untracked']) writeFileSync(join(path, name), '')
    execFileSync('git', ['-C', path, 'init'], { stdio: 'ignore' })
    execFileSync('git', ['-C', path, 'add', '--', ...names], { stdio: 'ignore' })
    const { id: projectId } = await create('Tracked', { path })
    expect((await board.as(own).projects.files({ projectId })).sort()).toEqual(names.sort())
    await fails(
      board.as(own).projects.files({ projectId: (await create('Plain', { path: board.folder('plain') })).id }),
      409,
      'NOT_A_GIT_REPOSITORY',
    )
  })
})

it('beyond loopback a plain user can create projects only below the project roots, also through links', async () => {
  const far = await startBoard({ host: '0.0.0.0', projectRoots: [board.folder('roots')] })
  try {
    await far.as().auth.setup({ email: 'root@example.org', password: 'root password' })
    await far.server.app.db.transaction(async tx => {
      await tx.run(`INSERT INTO server_settings VALUES ('auth', '{"registrationEnabled":true}')`)
    })
    const { token } = await far.as().auth.register({ email: 'own@example.org', password: 'own password' })
    const outside = board.folder('outside')
    symlinkSync(outside, join(board.folder('roots'), 'link'))
    for (const path of [
      outside,
      '/',
      join(board.folder('roots'), 'link'),
      `${board.folder('roots')}/../outside`,
      board.folder('roots-evil'),
      '/nothing',
    ])
      await fails(far.as(token).projects.create({ name: 'x', path }), 403, 'PATH_OUTSIDE_ROOTS')
    expect((await far.as(token).projects.create({ name: 'x', path: board.folder('roots/inside') })).path).toBe(
      board.folder('roots/inside'),
    )
    expect((await far.client.projects.create({ name: 'x', path: outside })).path).toBe(outside)
  } finally {
    await far.close()
  }
})
