import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { connectedApp } from '../support/identity/connectedApp.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

let server: TestBoard
let owner: CommandLine
let projectId: string
const holders: CommandLine[] = []

beforeAll(async () => {
  server = await startBoard({ externalRequestsPerMinute: 10_000 })
  owner = commandLine({ BOARD_URL: server.url, BOARD_TOKEN: server.token, BOARD_PROJECT: 'web' })
  projectId = (await server.client.projects.create({ name: 'web', path: server.folder('web') })).id
})
afterAll(async () => {
  for (const cli of [owner, ...holders]) cli.close()
  await server.close()
})

/** Creates a key with the command line and returns the command line of a user who has only that key. */
async function holder(...permissions: string[]): Promise<CommandLine> {
  const key = await owner.ok([
    'keys',
    'create',
    `k${permissions.length}`,
    ...permissions.flatMap(each => ['--permission', each]),
    '-q',
  ])
  const path = join(owner.home, `key-${permissions.join('-')}`)
  writeFileSync(path, key, { mode: 0o600 })
  const cli = commandLine({ BOARD_URL: server.url, BOARD_TOKEN_FILE: path, BOARD_PROJECT: projectId })
  holders.push(cli)
  return cli
}

test('a key is printed once, for the current project, and expires after 90 days by default', async () => {
  const { key, ...made } = await owner.json(['keys', 'create', 'ci', '--permission', 'cards.read'])
  expect(key).toMatch(/^svc_ak_/)
  expect(made).toMatchObject({ scope: 'project', projectId, permissions: ['cards.read'] })
  expect(Math.round((Date.parse(made.expiresAt!) - Date.now()) / 86_400_000)).toBe(90)
  const short = await owner.json([
    'keys',
    'create',
    'short',
    '--permission',
    'cards.read',
    '--scope',
    'server',
    '--expires',
    '2d',
  ])
  expect(Math.round((Date.parse(short.expiresAt!) - Date.now()) / 86_400_000)).toBe(2)
  const listed = await owner.ok(['keys', 'list', '--json'])
  expect(listed).not.toContain(key)
  expect(JSON.parse(await owner.ok(['keys', 'list', '--scope', 'server', '--json', 'name']))).toEqual([
    { name: 'short' },
  ])
})

test('rotate prints the new key, revoke ends it', async () => {
  await owner.ok(['keys', 'create', 'turning', '--permission', 'cards.read', '-q'])
  const key = (await owner.ok(['keys', 'rotate', 'turning', '-q'])).trim()
  const list = () => server.as(key).external.list({ projectId })
  await expect(list()).resolves.toMatchObject({ nextCursor: null })
  const id = (await server.client.keys.list()).filter(({ name }) => name === 'turning').at(-1)!.id
  expect((await owner.board(['keys', 'revoke', id])).code).toBe(2)
  await owner.ok(['keys', 'revoke', id, '--yes'])
  await expect(list()).rejects.toMatchObject({ status: 401 })
})

test('an invalid permission or time is a usage error that lists the valid ones', async () => {
  const [permission, time, none, organization] = await Promise.all([
    owner.board(['keys', 'create', 'x', '--permission', 'cards.reed']),
    owner.board(['keys', 'create', 'x', '--permission', 'cards.read', '--expires', 'soon']),
    owner.board(['keys', 'create', 'x']),
    owner.board(['keys', 'create', 'x', '--permission', 'cards.read', '--scope', 'organization']),
  ])
  expect([permission, time, none, organization].map(({ code }) => code)).toEqual([2, 2, 2, 2])
  expect(permission.stderr).toContain('cards.read,')
  expect(time.stderr).toContain('30d')
  expect(organization.stderr).toContain('--org')
})

test('with an API key the commands print the same as with a sign-in', async () => {
  const key = await holder('cards.read', 'cards.create', 'cards.move', 'agents.archive')
  const id = (await key.ok(['cards', 'add', 'By key', '--prompt', 'Do it', '-q'])).trim()
  for (const args of [
    ['cards', 'list'],
    ['cards', 'list', '-c', 'backlog'],
    ['cards', 'list', '-c', 'backlog', '-q'],
    ['boards', 'list'],
    ['projects', 'stats', projectId],
    ['cards', 'view', id, '--prompt'],
  ]) {
    expect([args, await key.ok(args)]).toEqual([args, await owner.ok(args)])
  }
  const [seen, whole] = await Promise.all([key.json(['cards', 'view', id]), owner.json(['cards', 'view', id])])
  expect(whole).toMatchObject(seen)
  expect(await key.ok(['cards', 'add', 'By key', '--unless-exists', '-q'])).toBe(`${id}\n`)
  await key.ok(['cards', 'move', id, '--to', 'in progress', '--top'])
  expect(await server.client.cards.getFlat({ id })).toMatchObject({ columnName: 'In Progress', deferred: true })
  expect(await key.ok(['cards', 'archive', id])).toBe(`${id}\tarchived\n`)
})

test('a list with a key can exceed one page', async () => {
  const key = await holder('cards.read')
  await Promise.all(
    Array.from({ length: 130 }, (_, at) =>
      server.client.cards.create({ projectId, title: `n${at}`, labels: ['many'] }),
    ),
  )
  expect((await key.ok(['cards', 'list', '-l', 'many', '--all', '-q'])).trim().split('\n')).toHaveLength(130)
  const cut = ['cards', 'list', '-l', 'many', '--limit', '110']
  const [some, quiet] = [await key.board(cut), await key.board([...cut, '-q'])]
  for (const { stdout } of [some, quiet]) expect(stdout.trim().split('\n')).toHaveLength(110)
  expect(some.stderr).toContain('--all')
  expect(quiet.stderr).toBe('')
})

test('a missing permission of a key exits with 4 and names it', async () => {
  const key = await holder('cards.read')
  const id = (await server.client.cards.create({ projectId, title: 'Safe' })).id
  const tried = await Promise.all(
    [
      ['cards', 'move', id, '--to', 'done'],
      ['cards', 'edit', id, '--title', 'x'],
      ['cards', 'run', id],
      ['keys', 'list'],
      ['projects', 'list'],
      ['templates', 'list'],
    ].map(args => key.board(args)),
  )
  expect(tried.map(({ code }) => code)).toEqual([4, 4, 4, 4, 4, 4])
  expect(
    tried.map(
      ({ stderr }) => /cards\.move|cards\.update|pipelines\.trigger|cards\.read|signed-in user/.exec(stderr)?.[0],
    ),
  ).toEqual(['cards.move', 'cards.update', 'cards.move', 'signed-in user', 'signed-in user', 'signed-in user'])
  const named = await key.board(['cards', 'list', '-P', 'web'])
  expect({ code: named.code, said: named.stderr.includes('by ID') }).toEqual({ code: 2, said: true })
})

test('a key that can read the project names it', async () => {
  const key = await holder('cards.read', 'projects.read')
  expect(await key.board(['cards', 'list', '-P', 'web', '-q'])).toMatchObject({ code: 0 })
  expect(await key.board(['cards', 'list', '-P', 'wbe'])).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('did you mean: web') as string,
  })
})

test('the list shows a connected app with its last use and its expiry on a narrow terminal, without the permissions', async () => {
  const ada = (await server.as().auth.setup({ email: 'ada@example.org', password: 'a long password' })).token
  const app = await connectedApp(server)
  const { access_token: token } = await app.connect(ada)
  await server.as(token).auth.me()
  await eventually('its use', async () => (await server.as(ada).keys.list()).some(each => each.app && each.lastUsedAt))
  const shown = async (width: string) =>
    owner.ok(['keys', 'list'], { env: { BOARD_TOKEN: ada, BOARD_FORCE_TTY: width, NO_COLOR: '1' } })
  expect(await shown('80')).toMatch(/APP +ENDS IN +USED +EXPIRES\n/)
  expect(await shown('80')).toMatch(/Probe +server +https:\/\/app\.example\.org +now +in \d+d\n/)
  expect(await shown('120')).toMatch(/EXPIRES +PERMISSIONS\n/)
})
