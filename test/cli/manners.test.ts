import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startOnTerminal } from '../support/terminals/onTerminal.ts'

const program = resolve(import.meta.dirname, '..', '..', 'bin', 'board.js')
let server: TestBoard
let cli: CommandLine
let projectId: string
let ids: string[]

beforeAll(async () => {
  server = await startBoard()
  cli = commandLine({ BOARD_URL: server.url, BOARD_TOKEN: server.token, BOARD_PROJECT: 'web' })
  projectId = (await server.client.projects.create({ name: 'web', path: server.folder('web') })).id
  ids = []
  for (const title of ['First', 'Second', 'Third'])
    ids.push((await server.client.cards.create({ projectId, title, labels: ['x'] })).id)
})
afterAll(async () => {
  cli.close()
  await server.close()
})

describe('a token', () => {
  test('can end with a line break, and is one word', async () => {
    expect(await cli.board(['whoami'], { env: { BOARD_TOKEN: `${server.token}\n` } })).toMatchObject({ code: 0 })
    for (const broken of [`${server.token} x`, `${server.token}\nsecond`])
      expect(await cli.board(['whoami'], { env: { BOARD_TOKEN: broken } })).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('the token of BOARD_TOKEN is not one word'),
      })
  })

  test('of any kind shows its owner, its permissions and its expiry', async () => {
    const { client } = server
    const { key } = await client.keys.create({
      name: 'cron',
      scope: 'project',
      projectId,
      permissions: ['cards.read', 'cards.move'],
    })
    expect(await cli.json(['whoami'], { env: { BOARD_TOKEN: key } })).toMatchObject({
      role: 'super_admin',
      tokenFrom: 'BOARD_TOKEN',
      token: {
        kind: 'key',
        name: 'cron',
        scope: 'project',
        projectId,
        permissions: ['cards.read', 'cards.move'],
        expiresAt: expect.stringMatching(/^\d{4}-/),
      },
    })
    expect(await cli.ok(['whoami'], { env: { BOARD_TOKEN: key } })).toContain('permissions\tcards.read, cards.move\n')
    expect(
      await cli.board(['cards', 'delete', ids[0]!, '--yes'], { env: { BOARD_TOKEN: key, BOARD_PROJECT: projectId } }),
    ).toMatchObject({ code: 4, stderr: expect.stringContaining('see: board whoami') })

    const active = (await client.columns.list({ projectId })).find(({ columnType }) => columnType === 'active')!
    const { id } = await client.cards.create({ projectId, title: 'Agent', columnId: active.id, deferred: true })
    const { token, expiresAt } = await client.agents.token({ projectId, cardId: id })
    expect(await cli.json(['whoami'], { env: { BOARD_TOKEN: token } })).toMatchObject({
      id: null,
      token: { kind: 'agent', projectId, cardId: id, expiresAt },
    })
    expect(await cli.json(['whoami'])).toMatchObject({ id: '0', token: { kind: 'local', expiresAt: null } })
    await client.cards.delete({ projectId, cardId: id })
  })
})

test('durations have one format, and times without a zone are local', async () => {
  expect(await cli.board(['cards', 'list', '--timeout', '5m'])).toMatchObject({ code: 0 })
  expect(await cli.board(['cards', 'list', '--timeout', '1.5'])).toMatchObject({ code: 0 })
  expect(await cli.board(['cards', 'list', '--timeout', '5 m'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('must be a duration like 90s, 15m, 2h or 7d'),
  })
  await cli.ok(['config', 'set', 'timeout', '2m'])
  const day = new Date(Date.now() + 60 * 86_400_000).toISOString().slice(0, 10)
  const made = await cli.json<{ expiresAt: string }>(
    ['keys', 'create', 'zone', '--permission', 'cards.read', '--expires', day],
    { env: { TZ: 'Asia/Tokyo' } },
  )
  expect(Date.parse(made.expiresAt)).toBe(Date.parse(`${day}T00:00:00+09:00`))
})

test('a list has the order of the board', async () => {
  const [first, second, third] = ids as [string, string, string]
  await cli.ok(['cards', 'move', third, '--top'])
  const done = (await server.client.cards.create({ projectId, title: 'Old', columnId: await columnNamed('Done') })).id
  const late = (await server.client.cards.create({ projectId, title: 'Late', labels: ['x'] })).id
  const listed = async (...flags: string[]) => (await cli.ok(['cards', 'list', '-q', ...flags])).trim().split('\n')
  expect(await listed()).toEqual([third, first, second, late, done])
  expect(await listed('--label', 'x')).toEqual([third, first, second, late])
  expect(await listed('--limit', '2')).toEqual([third, first])
  const { key } = await server.client.keys.create({
    name: 'reader',
    scope: 'project',
    projectId,
    permissions: ['cards.read'],
  })
  const byKey = await cli.ok(['cards', 'list', '-q'], { env: { BOARD_TOKEN: key, BOARD_PROJECT: projectId } })
  expect(byKey.trim().split('\n')).toEqual([third, first, second, late, done])
})

const columnNamed = async (name: string) =>
  (await server.client.columns.list({ projectId })).find(column => column.name === name)!.id

test('-q prints nothing on stderr, and FORCE_COLOR colors a pipe without terminal layout', async () => {
  expect(await cli.board(['cards', 'list', '--limit', '1', '-q'])).toMatchObject({ code: 0, stderr: '' })
  expect(await cli.board(['cards', 'list', '--limit', '1'])).toMatchObject({
    stderr: expect.stringContaining('there are more cards'),
  })
  const plain = await cli.ok(['cards', 'list'])
  const colored = await cli.ok(['cards', 'list'], { env: { FORCE_COLOR: '1' } })
  expect(colored).not.toBe(plain)
  // eslint-disable-next-line no-control-regex
  expect(colored.replaceAll(/\u001b\[\d+m/g, '')).toBe(plain)
})

test('a word that is the id of one column and the name of another is ambiguous', async () => {
  const backlog = await columnNamed('Backlog')
  const { id } = await server.client.columns.create({
    projectId,
    boardId: (await server.client.boards.list({ projectId }))[0]!.id,
    name: backlog,
    columnType: 'backlog',
  })
  expect(await cli.board(['cards', 'move', ids[0]!, '--to', backlog])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`use an ID: "#${backlog}" is Backlog, "#${id}" is ${backlog}`),
  })
  await cli.ok(['cards', 'move', ids[0]!, '--to', `#${id}`])
  expect((await server.client.cards.getFlat({ id: ids[0]! })).columnId).toBe(id)
})

test('an option of a sibling command suggests the right one, and a missing type lists the valid ones', async () => {
  expect(await cli.board(['cards', 'move', ids[0]!, '--column', 'Done'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('did you mean: --to'),
  })
  expect(await cli.board(['columns', 'create', 'Review'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--type <type> is required: one of backlog, active, done, archive'),
  })
  expect(await cli.ok(['columns', 'create', '--help'])).toMatch(/"backlog",\s+"active",\s+"done",\s+"archive"/)
})

test.each([['20'], ['40'], ['0']])('cards list --watch shows its cards on a terminal of %s columns', async width => {
  const screen = startOnTerminal(
    '/bin/sh',
    ['-c', 'stty cols "$1"; shift; exec "$@"', 'sh', width, process.execPath, program, 'cards', 'list', '--watch'],
    { cwd: cli.home, env: cli.env },
  )
  try {
    await eventually('a card', () => screen.text.includes('Second') && screen.text.includes(ids[1]!))
  } finally {
    screen.close()
  }
})
