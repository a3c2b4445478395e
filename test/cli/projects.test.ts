import { execFileSync } from 'node:child_process'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let server: TestBoard
let cli: CommandLine
let folder: string

beforeAll(async () => {
  server = await startBoard()
  cli = commandLine({ BOARD_URL: server.url, BOARD_TOKEN: server.token })
  folder = server.folder('web')
  execFileSync('git', ['init', '-q', folder])
  writeFileSync(join(folder, 'read me.txt'), 'x')
  execFileSync('git', ['-C', folder, 'add', '.'])
})
afterAll(async () => {
  cli.close()
  await server.close()
})

test('a project is created in the working folder, found from inside it, and becomes the current one when it is used', async () => {
  const id = (await cli.ok(['projects', 'create', 'web', '-q'], { cwd: folder })).trim()
  const [view, files, nowhere] = await Promise.all([
    cli.json(['projects', 'view'], { cwd: folder }),
    cli.ok(['projects', 'files'], { cwd: folder }),
    cli.board(['projects', 'view']),
  ])
  expect(view).toMatchObject({ id, name: 'web', path: folder })
  expect(files).toBe('read me.txt\n')
  expect({ code: nowhere.code, hint: nowhere.stderr.includes('board projects use') }).toEqual({ code: 2, hint: true })
  await cli.ok(['projects', 'use', 'WEB'])
  expect(await cli.ok(['projects', 'view', '-q'])).toBe(`${id}\n`)
})

test("a profile's project is reported in the folder of another one, until use --clear", async () => {
  const [mine, other] = [server.folder('mine'), server.folder('other')]
  const env = { XDG_CONFIG_HOME: join(cli.home, 'uses') }
  const at = (cwd: string) => ({ cwd, env })
  const [here, elsewhere] = [
    (await cli.ok(['projects', 'create', 'mine', '-q'], at(mine))).trim(),
    (await cli.ok(['projects', 'create', 'other', '-q'], at(other))).trim(),
  ]
  await cli.ok(['projects', 'use', 'other'], at(mine))
  const warning = `warning: using project ${elsewhere} "other" (profile default) in the folder of ${here} "mine"; to undo: board projects use --clear\n`
  const view = ['projects', 'view', '--json', 'id']
  expect(await cli.board(view, at(mine))).toMatchObject({ stdout: `{"id":"${elsewhere}"}\n`, stderr: warning })
  expect((await cli.board(view, at(other))).stderr).toBe('')
  expect((await cli.board([...view, '-P', 'other'], at(mine))).stderr).toBe('')
  const projectIn = async (cwd: string) =>
    (JSON.parse(await cli.ok(['status', '--json', 'project'], at(cwd))) as { project: unknown }).project
  expect(await projectIn(mine)).toEqual({ id: elsewhere, name: 'other', from: 'profile default' })
  await cli.ok(['projects', 'use', '--clear'], at(mine))
  expect(await projectIn(mine)).toEqual({ id: here, name: 'mine', from: 'the current folder' })
  expect(await cli.board(['projects', 'use', '--clear'], at(mine))).toMatchObject({
    code: 0,
    stderr: 'No profile selects a project.\n',
  })
  expect((await cli.board(['projects', 'use'], at(mine))).code).toBe(2)
  expect((await cli.board(['projects', 'use', 'mine', '--clear'], at(mine))).code).toBe(2)
  for (const id of [here, elsewhere]) await cli.ok(['projects', 'delete', id, '--yes'])
})

test('profile set verifies the project if it can, and reports if it cannot', async () => {
  const path = server.folder('checked')
  const env = { XDG_CONFIG_HOME: join(cli.home, 'checks') }
  await cli.ok(['projects', 'create', 'checked', '--path', path])
  const set = (project: string, url: string) =>
    cli.board(['profile', 'set', 'p', '--url', url, '--project', project], { env })
  expect(await set('nowhere', server.url)).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('board: there is no project "nowhere"\n') as string,
  })
  expect(await cli.ok(['profile', 'list', '-q'], { env })).toBe('')
  expect(await set('checked', server.url)).toMatchObject({ code: 0 })
  expect(await set('nowhere', 'http://127.0.0.1:1')).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^warning: the project was not checked: .*\n/) as string,
  })
  await cli.ok(['projects', 'delete', 'checked', '--yes'])
})

test('a new project creates its folder if the parent folder exists, and reports it', async () => {
  const path = join(server.folder('above'), 'new')
  const made = await cli.board(['projects', 'create', 'new', '--path', path])
  expect([made.code, made.stderr.split('\n')[0]]).toEqual([0, `Created the folder ${path}.`])
  expect(statSync(path).isDirectory()).toBe(true)
  const nowhere = await cli.board(['projects', 'create', 'lost', '--path', join(path, 'a', 'b')])
  expect([nowhere.code, existsSync(join(path, 'a'))]).not.toContain(0)
  await cli.ok(['projects', 'delete', 'new', '--yes'])
})

test('a new project explains how to add a card, and a folder of several projects belongs to none of them', async () => {
  const shared = server.folder('shared')
  const env = { XDG_CONFIG_HOME: join(cli.home, 'none') }
  const created = async (name: string) =>
    (await cli.board(['projects', 'create', name, '--yes'], { cwd: shared, env })).stderr
  expect(await created('one')).toMatch(/^Created project \d+\. Add a card: board cards add <title>\n$/)
  const [, second] = /^Created project (\d+)\. Add a card: board cards add <title> -P \1\n$/.exec(await created('two'))!
  expect(await cli.board(['cards', 'list'], { cwd: shared, env })).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(
      new RegExp(
        `^board: several projects have this folder\nselect one with -P: \\d+ \\(one\\), ${second} \\(two\\)\n`,
      ),
    ) as string,
  })
})

test('reorder puts the named projects first and keeps the order of the others', async () => {
  for (const name of ['a', 'b', 'c']) await server.client.projects.create({ name, path: folder })
  const before = (await server.client.projects.list()).map(({ name }) => name)
  await cli.ok(['projects', 'reorder', 'c', 'a'])
  const after = (await server.client.projects.list()).map(({ name }) => name)
  expect(after).toEqual(['c', 'a', ...before.filter(name => name !== 'c' && name !== 'a')])
})

test('deleting a project requires its typed name or --yes, and --dry-run changes nothing', async () => {
  const { id } = await server.client.projects.create({ name: 'short-lived', path: folder })
  expect(await cli.ok(['projects', 'delete', 'short-lived', '--dry-run'])).toBe(
    `would delete project ${id} "short-lived" with 0 cards\n`,
  )
  expect((await cli.board(['projects', 'delete', 'short-lived'])).code).toBe(2)
  await cli.ok(['projects', 'delete', 'short-lived', '--yes'])
  expect((await cli.board(['projects', 'view', 'short-lived'])).code).toBe(3)
})

test('stats are lines in a pipe and the whole record with --json', async () => {
  const { id } = await server.client.projects.create({ name: 'counted', path: folder })
  await server.client.cards.create({ projectId: id, title: 'One' })
  const [lines, record] = await Promise.all([
    cli.ok(['projects', 'stats', 'counted']),
    cli.json(['projects', 'stats', 'counted']),
  ])
  expect(lines.split('\n')[0]).toBe('cards\t\ttotal\t1')
  expect(record).toMatchObject({ total: 1, byStatus: { idle: 1 } })
})

test('boards and columns are created, renamed, reordered, emptied and deleted by name', async () => {
  const { id: projectId } = await server.client.projects.create({ name: 'shaped', path: folder })
  const board = (args: string[]) => cli.ok([...args, '-P', 'shaped'])
  await board(['boards', 'create', 'Release', '--template', 'plan, build, review'])
  await board(['boards', 'rename', 'Release', 'Train'])
  await board(['columns', 'create', 'Ship it', '--type', 'active', '--board', 'Train', '--prompt', 'Ship.'])
  await board(['columns', 'edit', 'ship it', '--name', 'Ship', '--prompt', ''])
  await board(['columns', 'reorder', 'Ship', 'Done'].map(name => (name === 'Done' ? 'done' : name)))
  const boardId = (await server.client.boards.list({ projectId })).find(({ name }) => name === 'Train')!.id
  const columns = await server.client.columns.list({ projectId, boardId })
  expect(columns.map(({ name }) => name)).toEqual(['Ship', 'Done', 'Backlog', 'Plan', 'Build', 'Review', 'Archive'])
  expect(columns[0]).toMatchObject({ columnType: 'active', prompt: '' })
  await server.client.cards.create({ projectId, title: 'Cargo', columnId: columns[0]!.id, deferred: true })
  expect((await cli.board(['columns', 'delete', 'Ship', '--yes', '-P', 'shaped'])).code).toBe(5)
  expect(await board(['columns', 'clear', 'Ship', '--dry-run'])).toContain('1 card of column')
  await board(['columns', 'clear', 'Ship', '--yes'])
  await board(['columns', 'delete', 'Ship', '--yes'])
  await board(['boards', 'reorder', 'Train'])
  expect(await board(['boards', 'list'])).toMatch(/^\d+\tTrain\n\d+\tBoard\n$/)
  await board(['boards', 'delete', 'Train', '--yes'])
  const last = await cli.board(['boards', 'delete', 'Board', '--yes', '-P', 'shaped'])
  expect({ code: last.code, said: last.stderr.includes('last board') }).toEqual({ code: 5, said: true })
})

test('a column requires a type, and the missing option is named', async () => {
  const { code, stderr } = await cli.board(['columns', 'create', 'X', '-P', 'web'])
  expect(code).toBe(2)
  expect(stderr).toContain('--type')
})

test('templates are created from options or from JSON, and built-in ones cannot be deleted', async () => {
  const columns = [
    { name: 'To do: now', columnType: 'backlog' },
    { name: 'Doing', columnType: 'active', prompt: 'Do.' },
  ]
  await cli.ok(['templates', 'create', 'Mine', '--column', 'To do: now:backlog', '--column', 'Done:done'])
  await cli.ok(['templates', 'edit', 'mine', '-F', '-', '--name', 'Ours'], { input: JSON.stringify(columns) })
  expect((await server.client.templates.list()).find(({ name }) => name === 'Ours')?.columns).toMatchObject(columns)
  expect((await cli.board(['templates', 'delete', 'Kanban', '--yes'])).code).toBe(4)
  await cli.ok(['templates', 'delete', 'Ours', '--yes'])
  expect((await cli.board(['templates', 'create', 'Bad', '--column', 'Doing:activ'])).code).toBe(2)
})

test('organizations hold projects and are deleted only if they have none', async () => {
  await cli.ok(['orgs', 'create', 'acme'])
  await cli.ok(['projects', 'create', 'owned', '--path', folder, '--org', 'acme', '--yes'])
  expect(await cli.ok(['projects', 'list', '--org', 'ACME', '--json', 'name'])).toBe('[{"name":"owned"}]\n')
  expect((await cli.board(['orgs', 'delete', 'acme', '--yes'])).code).toBe(5)
  await cli.ok(['projects', 'delete', 'owned', '--yes'])
  await cli.ok(['orgs', 'rename', 'acme', 'Acme Ltd'])
  expect(await cli.json(['orgs', 'view', 'acme ltd'])).toMatchObject({ name: 'Acme Ltd', role: 'admin' })
  await cli.ok(['orgs', 'delete', 'Acme Ltd', '--yes'])
})

test('without a server the exit code is 7, without a sign-in 4', async () => {
  const [away, unknown] = await Promise.all([
    cli.board(['projects', 'list'], { env: { BOARD_URL: 'http://127.0.0.1:1' } }),
    cli.board(['projects', 'list'], { env: { BOARD_TOKEN: 'svc_st_wrong' } }),
  ])
  expect(away.code).toBe(7)
  expect({ code: unknown.code, said: unknown.stderr.includes('board auth login') }).toEqual({ code: 4, said: true })
})

test('the behavior of a card at a usage limit is edited and shown in the same format', async () => {
  const { id } = await server.client.projects.create({ name: 'limits', path: folder })
  const credential = await server.client.credentials.create({
    name: 'work: key',
    provider: 'anthropic',
    apiKey: 'sk-ant-secret-key',
  })
  const edit = (...options: string[]) => cli.board(['projects', 'edit', 'limits', ...options])
  const env = { BOARD_FORCE_TTY: '120', NO_COLOR: '1' }
  const shown = async () =>
    /^At a usage limit:\s+(.*?)\s*$/m.exec(await cli.ok(['projects', 'view', 'limits'], { env }))?.[1]
  const stored = async () => (await server.client.projects.get({ id })).usageLimits
  expect(await shown()).toBe('stop')
  await edit('--on-limit', 'wait')
  expect([await shown(), (await stored()).next]).toEqual(['wait', []])
  await edit('--next', 'codex', '--next', 'claude::work: key')
  expect(await stored()).toEqual({
    onLimit: 'next',
    next: [
      { agent: 'codex', profile: null, credentialId: null },
      { agent: 'claude', profile: null, credentialId: credential.id },
    ],
  })
  expect(await shown()).toBe(`next: codex, claude::${credential.id}, then wait`)
  await edit('--on-limit', 'wait')
  expect((await stored()).next).toHaveLength(2)
  await edit('--next', 'none')
  expect(await stored()).toEqual({ onLimit: 'wait', next: [] })
  expect(await edit('--on-limit', 'never')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('must be stop, wait or next') as string,
  })
  expect((await edit('--next', 'codex::nobody')).code).toBe(3)
  await cli.ok(['projects', 'delete', 'limits', '--yes'])
})
