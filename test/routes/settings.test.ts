import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { defaultUserSettings } from '../../src/contract/accounts/defaultUserSettings.ts'
import { defaultShortcuts } from '../../src/contract/accounts/shortcuts.ts'
import { writeUserSetting } from '../../src/store/accounts/settings.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let own: Client
let foreign: Client
let tokens: { own: string; foreign: string }
let projectId: string
let cards: string[]
beforeAll(async () => {
  board = await startBoard()
  await board.as().auth.setup({ email: 'root@example.org', password: 'root password' })
  tokens = {
    own: (await board.as().auth.register({ email: 'own@example.org', password: 'own password' })).token,
    foreign: (await board.as().auth.register({ email: 'foreign@example.org', password: 'foreign password' })).token,
  }
  ;[own, foreign] = [board.as(tokens.own), board.as(tokens.foreign)]
  projectId = (await own.projects.create({ name: 'P', path: board.folder('p') })).id
  cards = await Promise.all(['A', 'B', 'C'].map(async title => (await own.cards.create({ projectId, title })).id))
})
afterAll(() => board.close())

const put = async (path: string, body: unknown, token = tokens.own) => {
  const reply = await board.request('PUT', path, { token, body })
  return {
    status: reply.status,
    code: reply.body.error?.code,
    paths: reply.body.error?.details?.map((detail: { path: string }) => detail.path),
    data: reply.body.data,
  }
}

test('settings start with the defaults, can be changed in part, and belong to one account', async () => {
  expect(await own.settings.getUser()).toEqual(defaultUserSettings)
  expect(await own.settings.setUser({ theme: 'dark', hiddenToolTypes: ['read'] })).toEqual({
    ...defaultUserSettings,
    theme: 'dark',
    hiddenToolTypes: ['read'],
  })
  expect(await own.settings.setUser({ statusLine: false })).toEqual({
    ...defaultUserSettings,
    theme: 'dark',
    hiddenToolTypes: ['read'],
    statusLine: false,
  })
  expect(await own.settings.getUser()).toMatchObject({ theme: 'dark', statusLine: false })
  expect(await foreign.settings.getUser()).toEqual(defaultUserSettings)
})

test.each<[unknown, string]>([
  [{ theme: 'pink' }, 'theme'],
  [{ highContrast: 1 }, 'highContrast'],
  [{ hiddenToolTypes: 'read' }, 'hiddenToolTypes'],
  [{ hiddenToolTypes: Array(101).fill('x') }, 'hiddenToolTypes'],
  [{ sound: true }, 'sound'],
])('the settings %j are rejected and name %s', async (body, path) => {
  expect(await put('/api/user/settings', body)).toMatchObject({ status: 400, code: 'VALIDATION_FAILED', paths: [path] })
})

test('shortcuts start with the defaults, can be changed in part, and belong to one account', async () => {
  expect(await own.settings.getShortcuts()).toEqual(defaultShortcuts)
  expect(await own.settings.setShortcuts({ help: '?,f1' })).toEqual({ ...defaultShortcuts, help: '?,f1' })
  expect(await own.settings.setShortcuts({ quit: 'ctrl+q' })).toEqual({
    ...defaultShortcuts,
    help: '?,f1',
    quit: 'ctrl+q',
  })
  expect(await foreign.settings.getShortcuts()).toEqual(defaultShortcuts)
})

test('two actions cannot share a key; both are named and nothing is saved', async () => {
  const before = await own.settings.getShortcuts()
  expect(await put('/api/settings/keyboard-shortcuts', { add: 'n,j' })).toMatchObject({
    status: 400,
    code: 'VALIDATION_FAILED',
    paths: ['add', 'down'],
  })
  expect(await put('/api/settings/keyboard-shortcuts', { add: 'x1', edit: ' x1 ' })).toMatchObject({
    status: 400,
    paths: ['edit', 'add'],
  })
  expect(await put('/api/settings/keyboard-shortcuts', { add: 'n,,y' })).toMatchObject({ status: 400, paths: ['add'] })
  expect(await put('/api/settings/keyboard-shortcuts', { fly: 'f' })).toMatchObject({ status: 400, paths: ['fly'] })
  expect(await own.settings.getShortcuts()).toEqual(before)
  expect(await own.settings.setShortcuts({ moveLeft: 'h', left: 'H' })).toMatchObject({ moveLeft: 'h', left: 'H' })
})

test('an older setting that equals a new default does not prevent changes of others', async () => {
  const { token } = await board.as().auth.register({ email: 'early@example.org', password: 'early password' })
  const early = board.as(token)
  const { id } = await early.auth.me()
  await board.server.app.db.transaction(tx =>
    writeUserSetting(tx, Number(id), 'shortcuts', JSON.stringify({ down: defaultShortcuts.sort })),
  )
  expect(await early.settings.setShortcuts({ quit: 'ctrl+q' })).toMatchObject({
    quit: 'ctrl+q',
    down: defaultShortcuts.sort,
  })
  await expect(early.settings.setShortcuts({ up: defaultShortcuts.sort })).rejects.toMatchObject({ status: 400 })
})

test('panel states are stored per account and card; a body replaces those that it names', async () => {
  const [a, b, c] = cards as [string, string, string]
  expect(await own.panelStates.get({ projectId })).toEqual({})
  expect(
    await own.panelStates.set({ projectId, [a]: { width: 300, open: [1, { deep: 'ü\u0000' }] }, [b]: 'text' }),
  ).toEqual({ [a]: { width: 300, open: [1, { deep: 'ü\u0000' }] }, [b]: 'text' })
  expect(await own.panelStates.set({ projectId, [b]: null, [c]: false })).toEqual({
    [a]: { width: 300, open: [1, { deep: 'ü\u0000' }] },
    [b]: null,
    [c]: false,
  })
  expect(await board.client.panelStates.get({ projectId })).toEqual({})
  await own.panelStates.delete({ projectId, cardId: c })
  expect(new Set(Object.keys(await own.panelStates.get({ projectId })))).toEqual(new Set([a, b]))
  expect(
    (await board.request('DELETE', `/api/projects/${projectId}/panel-states/${c}`, { token: tokens.own })).body.error
      .code,
  ).toBe('PANEL_STATE_NOT_FOUND')
})

test('a key that is not a card of the project is rejected by name, and nothing is saved', async () => {
  const other = await own.projects.create({ name: 'Q', path: board.folder('q') })
  const elsewhere = (await own.cards.create({ projectId: other.id, title: 'Elsewhere' })).id
  const deleted = (await own.cards.create({ projectId, title: 'Deleted' })).id
  await own.panelStates.set({ projectId, [deleted]: 1 })
  await own.cards.delete({ projectId, cardId: deleted })
  expect(await own.panelStates.get({ projectId })).not.toHaveProperty(deleted)
  const before = await own.panelStates.get({ projectId })
  for (const key of [elsewhere, deleted, '999999', '0', '-1', '1.5', '01', '1e2', 'x', '', '9'.repeat(300)])
    expect(
      await put(`/api/projects/${projectId}/panel-states`, { [cards[0]!]: 'changed', [key]: 1 }),
      key,
    ).toMatchObject({ status: 400, code: 'VALIDATION_FAILED', paths: [key.slice(0, 100)] })
  expect(await own.panelStates.get({ projectId })).toEqual(before)
})

test('a body that is not an object, too deep or too large is rejected', async () => {
  const path = `/api/projects/${projectId}/panel-states`
  for (const body of [[], 'x', 1, null]) expect((await put(path, body)).status, JSON.stringify(body)).toBe(400)
  let deep: unknown = 1
  for (let level = 0; level < 40; level++) deep = { deep }
  expect((await put(path, { [cards[0]!]: deep })).status).toBe(400)
  expect((await put(path, { [cards[0]!]: 'x'.repeat(300_000) })).status).toBe(400)
})

test("another account's project looks missing", async () => {
  for (const path of [`/api/projects/${projectId}/panel-states`, '/api/projects/99999/panel-states']) {
    expect(await put(path, {}, tokens.foreign)).toMatchObject({ status: 404, code: 'PROJECT_NOT_FOUND' })
    expect((await board.request('GET', path, { token: tokens.foreign })).body).toEqual({
      error: { code: 'PROJECT_NOT_FOUND', message: 'Project not found.' },
    })
  }
})
