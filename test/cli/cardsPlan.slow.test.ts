import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let ada: Client
let token: string
let bob: string
let cli: CommandLine
let projectId: string
beforeAll(async () => {
  board = await startBoard()
  const email = 'ada@example.org'
  token = (await board.client.auth.setup({ email, password: 'correct horse', displayName: 'Ada' })).token
  ada = board.as(token)
  const account = { email: 'bob@example.org', password: 'a long password', displayName: 'Bob Bell' }
  bob = (await registerConfirmed(board, account)).user.id
})
afterAll(() => board.close())
beforeEach(async () => {
  projectId = (await ada.projects.create({ name: 'p', path: board.folder('p') })).id
  await ada.members.add({ id: projectId, email: 'bob@example.org' })
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: token, BOARD_PROJECT: projectId, TZ: 'Europe/Berlin' })
  return () => cli.close()
})
const add = async (title: string, ...options: string[]) =>
  (await cli.ok(['cards', 'add', title, '-q', ...options])).trim()
const read = (cardId: string) => ada.cards.get({ projectId, cardId })
const names = async (cardId: string) =>
  (await read(cardId)).assignees.map(each => ('userId' in each ? each.displayName : each.name))

describe('a plan', () => {
  test('is set, changed and removed', async () => {
    const id = await add('a', '-a', 'me,bob bell', '--priority', 'urgent', '--due', '2030-07-31', '--estimate', '1.5')
    expect(await cli.ok(['cards', 'view', id])).toMatch(
      /priority\turgent\ndueAt\t2030-07-31T21:59:59.999Z\nestimate\t1.5\nassignees\tAda, Bob Bell\n/,
    )
    await cli.ok(['cards', 'edit', id, '--remove-assignee', 'me', '--priority', 'low', '--due', 'none'])
    expect(await read(id)).toMatchObject({ priority: 'low', dueAt: null, estimate: 1.5 })
    expect(await names(id)).toEqual(['Bob Bell'])
    await cli.ok(['cards', 'edit', id, '--add-assignee', 'ada@example.org', '--estimate', 'none', '--no-watch'])
    expect(await cli.json(['cards', 'view', id])).toMatchObject({ estimate: null, watching: false })
    expect(await names(id)).toEqual(['Bob Bell', 'Ada'])
    await cli.ok(['cards', 'edit', id, '--watch'])
    expect((await read(id)).watching).toBe(true)
  })

  test('keeps names without an account until they are removed', async () => {
    const id = await add('a')
    await ada.cards.update({ projectId, cardId: id, assigneeNames: ['Zoe', 'Yan'] })
    await cli.ok(['cards', 'edit', id, '--add-assignee', bob])
    await cli.ok(['cards', 'edit', id, '--remove-assignee', 'zoe'])
    expect(await names(id)).toEqual(['Bob Bell', 'Yan'])
    await ada.members.remove({ projectId, userId: bob })
    await cli.ok(['cards', 'edit', id, '--remove-assignee', 'Bob Bell'])
    expect(await names(id)).toEqual(['Yan'])
  })

  test('assign adds people to cards and removes them, and ready filters by them', async () => {
    const [first, second] = [await add('a'), await add('b')]
    await cli.ok(['cards', 'assign', first, second, '--to', 'me,bob bell'])
    expect([await names(first), await names(second)]).toEqual([
      ['Ada', 'Bob Bell'],
      ['Ada', 'Bob Bell'],
    ])
    await cli.ok(['cards', 'assign', '-', '--to', 'me', '--remove', 'bob bell'], { input: `${second}\n` })
    expect(await names(second)).toEqual(['Ada'])
    const ready = await cli.ok(['cards', 'ready', '--assignee', 'bob bell', '--all', '-q'])
    expect(ready.split('\n')).toContain(first)
    expect(ready.split('\n')).not.toContain(second)
    expect((await cli.board(['cards', 'assign', first])).code).toBe(2)
  })

  test('can be set from files', async () => {
    const line = { title: 'b', priority: 'high', due: '2030-01-31', estimate: 2, assignees: ['Bob Bell'] }
    const [id] = (await cli.ok(['cards', 'add', '--from', '-', '-q'], { input: JSON.stringify(line) })).split('\n')
    expect(await read(id!)).toMatchObject({ priority: 'high', dueAt: '2030-01-31T22:59:59.999Z', estimate: 2 })
    expect(await names(id!)).toEqual(['Bob Bell'])
    const text = '---\npriority: low\nassignees: me, Bob Bell\nestimate: 3\ndue: 2030-01-31T12:00:00Z\n---\n# c\n'
    const other = (await cli.ok(['cards', 'add', '-T', '-', '-q'], { input: text })).trim()
    expect(await read(other)).toMatchObject({ priority: 'low', dueAt: '2030-01-31T12:00:00.000Z', estimate: 3 })
    const wrong = await cli.board(['cards', 'add', '--from', '-'], { input: '{"title":"d","due":"some day"}' })
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('line 1: due must be a date or time') })
  })

  test.each([
    [['--due', 'some day'], /must be a date like 2030-01-31/],
    [['--due', '2030-02-31x'], /must be a date like 2030-01-31/],
    [['--estimate', 'much'], /must be a number like 3 or 0\.5/],
    [['--priority', 'huge'], /urgent, high, normal, low/],
    [['-a', 'Bob Bel'], /there is no person "Bob Bel"\ndid you mean: Bob Bell/],
    [['-a', '999'], /999 is not/],
  ])('is rejected if it is invalid: %j', async (options, message) => {
    const { code, stderr } = await cli.board(['cards', 'add', 'a', ...options])
    expect(code).toBeGreaterThan(0)
    expect(stderr).toMatch(message)
    expect(await ada.cards.list({ projectId })).toEqual([])
  })
})

describe('a list', () => {
  let ids: Record<'late' | 'plain' | 'soon' | 'high', string>
  beforeEach(async () => {
    ids = {
      late: await add('late', '--priority', 'low', '--due', '2031-01-01'),
      plain: await add('plain'),
      soon: await add('soon', '--priority', 'urgent', '--due', 'tomorrow', '-a', 'me'),
      high: await add('high', '--priority', 'high', '-a', bob, '-c', 'Done'),
    }
  })
  const listed = async (...options: string[]) =>
    (await cli.ok(['cards', 'list', '-q', ...options]))
      .split('\n')
      .filter(Boolean)
      .map(id => Object.entries(ids).find(each => each[1] === id)![0])

  test('is filtered by assignee, priority and due date', async () => {
    expect(await listed('--assignee', 'me')).toEqual(['soon'])
    expect(await listed('-a', 'bob@example.org')).toEqual(['high'])
    expect(await listed('-a', 'none')).toEqual(['late', 'plain'])
    expect(await listed('--priority', 'low')).toEqual(['late'])
    expect(await listed('--due-before', '3d')).toEqual(['soon'])
    expect(await listed('--due-before', 'now')).toEqual([])
    expect(await listed('--due-before', 'tomorrow')).toEqual([])
    expect((await cli.ok(['cards', 'list', '-a', 'me'])).split('\n')[0]).toMatch(/\turgent\t.*\tAda$/)
  })

  test('is sorted', async () => {
    expect(await listed('--sort', '-priority')).toEqual(['soon', 'high', 'plain', 'late'])
    expect(await listed('--sort', 'dueAt', '--limit', '2')).toEqual(['soon', 'late'])
    expect(await listed('--sort', '-id')).toEqual(['high', 'soon', 'plain', 'late'])
    expect(await listed('--sort', 'position')).toEqual(['late', 'plain', 'soon', 'high'])
    expect(await cli.ok(['cards', 'ready', '-q'])).toBe(`${ids.soon}\n${ids.plain}\n${ids.late}\n`)
  })

  test('works with an API key', async () => {
    const { key } = await ada.keys.create({ name: 'k', scope: 'project', projectId, permissions: ['cards.read'] })
    const byKey = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: key, BOARD_PROJECT: projectId })
    expect(await byKey.ok(['cards', 'list', '-a', 'me', '-q'])).toBe(`${ids.soon}\n`)
    expect(await byKey.ok(['cards', 'list', '-a', 'Bob Bell', '-q'])).toBe(`${ids.high}\n`)
    expect(await byKey.ok(['cards', 'list', '--sort', '-priority', '-q', '--limit', '1'])).toBe(`${ids.soon}\n`)
    byKey.close()
  })
})
