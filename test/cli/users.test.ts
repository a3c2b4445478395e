import { afterAll, beforeAll, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'

let server: TestBoard
let root: CommandLine
let plain: CommandLine

beforeAll(async () => {
  server = await startBoard()
  const { token } = await server
    .as()
    .auth.setup({ email: 'root@example.org', password: 'root password', displayName: 'Root' })
  const bob = await registerConfirmed(server, {
    email: 'bob@example.org',
    password: 'battery staple',
    displayName: 'Bob',
  })
  root = commandLine({ BOARD_URL: server.url, BOARD_TOKEN: token })
  plain = commandLine({ BOARD_URL: server.url, BOARD_TOKEN: bob.token })
})
afterAll(async () => {
  for (const cli of [root, plain]) cli.close()
  await server.close()
})

const firstLine = ({ stderr }: { stderr: string }) => stderr.split('\n')[0]
const login = (email: string, password: string) => server.as().auth.login({ email, password })

test('an account is created, found, changed, given a new password and deleted', async () => {
  const made = await root.json<{ email: string; generatedPassword: string }>([
    'users',
    'create',
    'ada@example.org',
    '--name',
    'Ada',
    '--role',
    'admin',
  ])
  expect(await login('ada@example.org', made.generatedPassword)).toMatchObject({
    user: { displayName: 'Ada', role: 'admin' },
  })
  expect(JSON.parse(await root.ok(['users', 'list', '--search', 'ada', '--json', 'email,role']))).toEqual([
    { email: 'ada@example.org', role: 'admin' },
  ])
  expect(await plain.ok(['users', 'search', 'ada'])).toMatch(/^\d+\tada@example\.org\tAda\n$/)
  await root.ok(['users', 'edit', 'ADA@example.org', '--role', 'user', '--name', 'Ada L'])
  expect(await root.ok(['users', 'list', '--search', 'ada'])).toMatch(/^\d+\tada@example\.org\tAda L\tuser\tlocal\t/)
  const password = (await root.ok(['users', 'reset-password', 'ada@example.org', '--yes', '-q'])).trim()
  await expect(login('ada@example.org', made.generatedPassword)).rejects.toMatchObject({ status: 401 })
  const {
    token,
    user: { id },
  } = await login('ada@example.org', password)
  await server.as(token).projects.create({ name: 'Adas', path: server.folder('adas') })
  expect(await root.ok(['users', 'delete', 'ada@example.org', '--dry-run'])).toBe(
    `would delete user ${id} (ada@example.org); 1 project passes to a super_admin\n`,
  )
  expect((await root.board(['users', 'delete', 'ada@example.org'])).code).toBe(2)
  await root.ok(['users', 'delete', id, '--yes'])
  expect((await root.board(['users', 'edit', 'ada@example.org', '--name', 'X'])).code).toBe(3)
  expect(await root.ok(['projects', 'list', '--json', 'name'])).toContain('Adas')
})

test('many accounts are listed in pages, with a notice of further ones', async () => {
  await server.server.app.db.transaction(async tx => {
    for (let at = 0; at < 230; at++)
      await tx.run('INSERT INTO users (email, display_name, role, created_at) VALUES (?, ?, ?, ?)', [
        `many${at}@example.net`,
        'Many',
        'user',
        tx.now,
      ])
  })
  const cut = ['users', 'list', '--search', 'example.net', '--limit', '120']
  const [some, quiet] = [await root.board(cut), await root.board([...cut, '-q'])]
  expect([some.stdout.trim().split('\n').length, some.stderr.includes('there are 230 accounts')]).toEqual([120, true])
  expect([quiet.stdout.trim().split('\n').length, quiet.stderr]).toEqual([120, ''])
  expect((await root.ok(['users', 'list', '--search', 'example.net', '--all', '-q'])).trim().split('\n')).toHaveLength(
    230,
  )
})

test('a missing permission exits with 4 and a conflict with 5', async () => {
  const { id } = await server.as(root.env.BOARD_TOKEN).auth.me()
  expect((await plain.board(['users', 'list'])).code).toBe(4)
  expect((await plain.board(['settings', 'auth'])).code).toBe(4)
  const [self, last] = [
    await root.board(['users', 'delete', 'root@example.org', '--yes']),
    await root.board(['users', 'edit', id!, '--role', 'user']),
  ]
  expect([self.code, firstLine(self)]).toEqual([5, 'board: you cannot delete your own account'])
  expect([last.code, firstLine(last)]).toEqual([5, 'board: the last super_admin cannot be deleted or demoted'])
  expect((await root.board(['users', 'create', 'x@example.org', '--role', 'owner'])).code).toBe(2)
})

test('the members of an organization are managed by their addresses', async () => {
  const id = (await plain.ok(['orgs', 'create', 'acme', '-q'])).trim()
  await plain.ok(['orgs', 'member', 'add', 'acme', 'root@example.org'])
  await plain.ok(['orgs', 'member', 'set', 'acme', 'ROOT@example.org', 'admin'])
  expect(JSON.parse(await root.ok(['orgs', 'member', 'list', 'acme', '--json', 'email,role']))).toEqual([
    { email: 'bob@example.org', role: 'admin' },
    { email: 'root@example.org', role: 'admin' },
  ])
  await root.ok(['orgs', 'member', 'remove', 'acme', 'root@example.org', '--yes'])
  expect(await root.ok(['orgs', 'member', 'list', id])).toMatch(/^bob@example\.org\tBob\tadmin\t\d+\n$/)
  const [last, unknown, typo, asked] = await Promise.all(
    [
      ['remove', 'acme', 'bob@example.org', '--yes'],
      ['add', 'acme', 'nobody@example.org'],
      ['set', 'acme', 'bib@example.org', 'member'],
      ['remove', 'acme', 'bob@example.org'],
    ].map(args => plain.board(['orgs', 'member', ...args])),
  )
  expect([last, unknown, typo, asked].map(each => each?.code)).toEqual([5, 3, 3, 2])
  expect(unknown!.stderr).toContain('nobody@example.org')
  expect(typo!.stderr).toContain('did you mean: bob@example.org')
})

test('the members of a project are added, invited, changed and removed', async () => {
  await root.ok(['projects', 'create', 'web', '--path', server.folder('web')])
  const member = (...args: string[]) => root.board(['projects', 'member', ...args, '-P', 'web'])
  expect((await member('add', 'bob@example.org', '--role', 'viewer')).stderr).toBe('Added bob@example.org.\n')
  expect((await member('add', 'new+tag@example.org')).stderr).toMatch(
    /^Invited new\+tag@example\.org\. Share the link now/,
  )
  expect((await member('add', 'bob@example.org')).code).toBe(5)
  expect((await member('set', 'bob@example.org', 'member')).stderr).toBe('bob@example.org now has the role member.\n')
  expect((await member('list')).stdout).toMatch(
    /^bob@example\.org\tBob\tmember\tfalse\t\d+\nnew\+tag@example\.org\t\tmember\ttrue\t\n$/,
  )
  expect((await member('set', 'new+tag@example.org', 'viewer')).code).toBe(5)
  expect((await member('remove', 'new+tag@example.org', '--yes')).stderr).toBe(
    'Withdrew the invitation of new+tag@example.org.\n',
  )
  expect(await plain.ok(['projects', 'list', '--json', 'name'])).toContain('web')
  expect((await plain.board(['projects', 'member', 'remove', 'bob@example.org', '-P', 'web', '--yes'])).stderr).toBe(
    'Removed bob@example.org.\n',
  )
  expect((await plain.board(['projects', 'member', 'list', '-P', 'web'])).code).toBe(3)
})

test('authentication and registration are enabled and disabled', async () => {
  expect(await root.json(['settings', 'auth'])).toEqual({ enabled: true, registrationEnabled: true })
  expect(await root.json(['settings', 'auth', '--registration', 'off'])).toEqual({
    enabled: true,
    registrationEnabled: false,
  })
  expect((await root.board(['settings', 'auth', 'off'])).code).toBe(2)
  expect(await root.ok(['settings', 'auth', 'off', '--yes'])).toBe('enabled\tfalse\nregistrationEnabled\tfalse\n')
  const nobody = commandLine({ BOARD_URL: server.url })
  expect(await nobody.json(['whoami'])).toMatchObject({ email: 'root@example.org', role: 'super_admin' })
  await nobody.ok(['settings', 'auth', 'on', '--registration', 'on'])
  expect((await nobody.board(['whoami'])).code).toBe(4)
  expect((await root.board(['settings', 'auth', 'maybe'])).code).toBe(2)
  nobody.close()
})

test('verbs with the name of a noun complete their own words', async () => {
  const ask = (...words: string[]) => root.ok(['__complete', '--', ...words])
  expect(await ask('settings', 'auth', '')).toBe('on\noff\n')
  expect((await ask('orgs', 'member', '')).split('\n').map(line => line.split('\t')[0])).toEqual([
    'list',
    'add',
    'set',
    'remove',
    '',
  ])
  expect(await ask('projects', 'member', 'set', 'bob@example.org', '')).toBe('admin\nmember\nviewer\n')
  expect(await ask('users', 'delete', '')).toContain('1\troot@example.org\n')
})
