import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { cuttableLine } from '../e2e/cuttableLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startOnTerminal } from '../support/terminals/onTerminal.ts'
import { normal, type Doc } from '../transfers/files.ts'

const fixtures = join(import.meta.dirname, '..', 'fixtures', 'imports')

let board: TestBoard
let cli: CommandLine
let path: string
let projectId: string

beforeAll(async () => {
  board = await startBoard()
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, TMPDIR: board.folder('temporary') })
  path = board.folder('work')
  projectId = (await board.client.projects.create({ name: 'Web', path })).id
  const { id: cardId } = await board.client.cards.create({ projectId, title: 'First', prompt: 'Do it' })
  writeFileSync(join(cli.home, 'notes.txt'), 'a file')
  await board.client.attachments.create({ projectId, cardId, file: { path: join(cli.home, 'notes.txt') } })
})
afterAll(async () => {
  cli.close()
  await board.close()
})

const read = (file: string): Doc => JSON.parse(readFileSync(join(cli.home, file), 'utf8'))

test('a project is saved under its name, in a folder, in a file or to stdout', async () => {
  expect(await cli.ok(['projects', 'export', 'web'])).toBe('Web.board.json\n')
  expect(read('Web.board.json')).toMatchObject({
    format: 'board',
    cards: [{ title: 'First' }],
    attachments: [{ filename: 'notes.txt' }],
  })
  expect(await cli.board(['projects', 'export', 'Web'])).toMatchObject({
    code: 5,
    stderr: 'board: Web.board.json exists\nto replace it: -o Web.board.json\n',
  })
  expect(await cli.ok(['projects', 'export', '-P', 'Web', '-o', 'copy.json'])).toBe('copy.json\n')
  expect(normal(JSON.parse(await cli.ok(['projects', 'export', projectId, '-o', '-'])))).toEqual(
    normal(read('copy.json')),
  )
  expect((await cli.board(['projects', 'export', 'nothing'])).code).toBe(3)
})

test('a saved file can be imported, from a file or from stdin', async () => {
  await cli.ok(['projects', 'export', 'Web', '-o', 'back.json'])
  const { code, stdout, stderr } = await cli.board(['import', 'board', 'back.json'])
  const id = /^projectIds\t(\d+)$/m.exec(stdout)![1]!
  expect([code, stderr, stdout]).toEqual([
    0,
    `Imported 1 card. See: board cards list -P ${id}\n`,
    `projectIds\t${id}\norganizationId\t\nboards\t1\ncolumns\t3\ncards\t1\nattachments\t1\nskipped\t0\n`,
  ])
  expect(normal(JSON.parse(await cli.ok(['projects', 'export', id, '-o', '-'])))).toEqual(normal(read('back.json')))
  const again = (
    await cli.ok(['import', 'board', '-', '-q', '--path', board.folder('else')], {
      input: readFileSync(join(cli.home, 'back.json'), 'utf8'),
    })
  ).trim()
  expect((await board.client.projects.get({ id: again })).path).toBe(board.folder('else'))
  expect(await cli.json(['import', 'board', 'back.json', '-P', projectId, '--dry-run'])).toMatchObject({
    dryRun: true,
    projectIds: [],
    boards: 1,
    cards: 1,
  })
})

test('lists of other programs become cards of a project, and a dry run shows them', async () => {
  const args = [
    'import',
    'trello',
    join(fixtures, 'trello.json'),
    '-P',
    projectId,
    '--map',
    'Ideas=Backlog',
    '--map',
    'Shipped to customers=Done',
  ]
  const plan = await cli.board([...args, '--dry-run'])
  expect([plan.code, plan.stdout]).toEqual([0, 'boards\t0\ncolumns\t1\ncards\t6\nattachments\t0\nskipped\t0\n'])
  expect(plan.stderr).toBe(`warning: Skipped actions other than comments (the history of the board): 1.
warning: Skipped custom fields: 1.
warning: Skipped cards in a list that is not in the file: 1.
warning: Attached files that remain in Trello, linked in the prompts: 1.
warning: Skipped values of custom fields: 1.
Would import 6 cards.
`)
  expect((await board.client.cards.list({ projectId })).length).toBe(1)
  await cli.ok(args)
  expect((await board.client.columns.list({ projectId })).map(({ name, cardCount }) => [name, cardCount])).toEqual([
    ['Backlog', 3],
    ['In Progress', 1],
    ['Done', 1],
    ['Old sprint', 1],
  ])
})

test('a second import skips the cards of the first one and reports both counts', async () => {
  const { id } = await board.client.projects.create({ name: 'Twice', path })
  writeFileSync(join(cli.home, 'TODO.md'), '- [ ] A\n- [ ] B\n')
  const args = ['import', 'markdown', 'TODO.md', '-P', id]
  expect((await cli.board(args)).stderr).toBe(`Imported 2 cards. See: board cards list -P ${id}\n`)
  writeFileSync(join(cli.home, 'TODO.md'), '- [x] A\n- [ ] B\n- [ ] C\n')
  expect((await cli.board([...args, '--dry-run'])).stderr).toBe(
    'Would import 1 card and skip 2 cards that already exist.\n',
  )
  expect((await cli.board(args)).stderr).toBe(
    `Imported 1 card and skipped 2 cards that already exist. See: board cards list -P ${id}\n`,
  )
  expect(await cli.json([...args])).toMatchObject({ cards: 0, skipped: 3 })
  const [card] = await board.client.cards.list({ projectId: id })
  expect(await cli.ok(['cards', 'view', card!.id])).toMatch(/^source\tmarkdown TODO\.md#[0-9a-f]{16}$/m)
})

test('--path creates the folder of a new project if the folder above it exists, and a dry run does not', async () => {
  const folder = join(board.folder('parent'), 'created')
  const args = ['import', 'markdown', join(fixtures, 'tasks.md'), '--path', folder, '--yes']
  expect((await cli.board([...args, '--dry-run'])).code).toBe(0)
  expect(existsSync(folder)).toBe(false)
  writeFileSync(join(cli.home, 'empty.md'), 'No task\n')
  expect((await cli.board(['import', 'markdown', 'empty.md', '--path', folder, '--yes'])).code).toBe(2)
  expect(existsSync(folder)).toBe(false)
  const { projectIds } = await cli.json<Doc>(args)
  expect(await board.client.projects.get({ id: projectIds[0] })).toMatchObject({ path: folder })
  expect(existsSync(folder)).toBe(true)
  for (const dryRun of [[], ['--dry-run']])
    expect(
      await cli.board([
        'import',
        'markdown',
        join(fixtures, 'tasks.md'),
        '--path',
        join(folder, 'a', 'b'),
        '-y',
        ...dryRun,
      ]),
    ).toMatchObject({ code: 2, stderr: expect.stringContaining('does not exist') })
})

test('issues are imported from stdin into a new project here, and tasks from a file', async () => {
  const folder = board.folder('garden')
  const [id] = (
    await cli.ok(['import', 'github', '-', '-q'], {
      cwd: folder,
      input: readFileSync(join(fixtures, 'github.json'), 'utf8'),
    })
  ).split('\n')
  expect(await board.client.projects.get({ id: id! })).toMatchObject({ name: 'acme/web', path: folder })
  const tasks = ['import', 'markdown', join(fixtures, 'tasks.md'), '--path', folder, '--yes']
  const { projectIds } = await cli.json<Doc>(tasks)
  expect(await board.client.projects.get({ id: projectIds[0] })).toMatchObject({ name: 'tasks', path: folder })
})

test("Ctrl-C during the upload reports that nothing was imported, and later waits for the server's result", async () => {
  const line = await cuttableLine(Number(new URL(board.url).port))
  const env = { ...cli.env, BOARD_URL: `http://127.0.0.1:${line.port}`, TERM: 'xterm' }
  // More than the buffer of the connection holds while it is cut.
  const large = join(cli.home, 'large.json')
  writeFileSync(large, JSON.stringify([{ number: 1, title: 'Large', body: 'x'.repeat(40_000_000) }]))
  const small = join(cli.home, 'small.json')
  writeFileSync(small, JSON.stringify([{ number: 1, title: 'Small' }]))
  const start = (file: string) =>
    startOnTerminal(
      process.execPath,
      [resolve('bin/board.js'), 'import', 'github', file, '--path', board.folder('interrupted'), '--yes'],
      { cwd: cli.home, env },
    )
  try {
    const projects = (await board.client.projects.list()).length
    line.cut()
    const sending = start(large)
    await eventually('its progress', () => sending.text.includes('Importing large.json ['))
    sending.type('\u0003')
    await eventually('its end', () => sending.code !== undefined)
    expect([sending.code, sending.text]).toEqual([
      130,
      expect.stringContaining('board: interrupted; nothing was imported'),
    ])
    sending.close()
    expect((await board.client.projects.list()).length).toBe(projects)

    const waiting = start(small)
    await eventually('what it waits for', () => waiting.text.includes('the server is importing the file'))
    waiting.type('\u0003')
    await eventually('word of the import', () => waiting.text.includes('finishes the import'))
    line.mend()
    await eventually('its end', () => waiting.code !== undefined)
    expect([waiting.code, waiting.text]).toEqual([130, expect.stringContaining('Imported 1 card.')])
    waiting.close()
  } finally {
    await line.close()
  }
})

test('every error of a file is one line, and nothing is created', async () => {
  const file = read('Web.board.json')
  writeFileSync(
    join(cli.home, 'wrong.json'),
    JSON.stringify({
      ...file,
      cards: file.cards.map((card: Doc) => ({ ...card, title: '', columnId: 99 })),
      attachments: [],
      contents: [],
    }),
  )
  const before = await board.client.projects.list()
  expect(await cli.board(['import', 'board', 'wrong.json'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'board: nothing was imported: cards.0.title must not be empty\n',
  })
  writeFileSync(
    join(cli.home, 'wrong.json'),
    JSON.stringify({
      ...file,
      cards: [1, 2].map(id => ({ id, columnId: 99, position: 0, title: 'x' })),
      attachments: [],
      contents: [],
    }),
  )
  expect(await cli.board(['import', 'board', 'wrong.json'])).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'warning: cards.0.columnId must be the ID of a record in columns\nwarning: cards.1.columnId must be the ID of a record in columns\nboard: nothing was imported: the file has 2 errors\n',
  })
  expect(await board.client.projects.list()).toEqual(before)
})

test('wrong usage is reported before any request', async () => {
  for (const [args, message] of [
    [['import', 'excel', 'x'], 'board: '],
    [['import', 'board', 'missing.json'], 'board: missing.json cannot be read: the file does not exist\n'],
    [['import', 'board', '.'], 'board: . is not a file\n'],
    [['import', 'markdown', 'notes.txt', '--map', 'nonsense'], 'board: '],
    [
      ['import', 'markdown', 'notes.txt', '-P', '1', '--path', '.'],
      'board: --path and --org apply only to new projects, and cannot be combined with -P\n',
    ],
  ] as const) {
    const { code, stderr } = await cli.board([...args])
    expect([args, code, stderr.startsWith(message)]).toEqual([args, 2, true])
  }
})

test('an organization is saved with its projects', async () => {
  const { code, stderr } = await cli.board(['export'])
  expect([code, stderr]).toEqual([
    2,
    'board: you do not administer an organization\nto save a project: board projects export -P <project>; to save another organization: --org <organization>\nsee: board orgs list\n',
  ])
  const { id: organizationId } = await board.client.organizations.create({ name: 'Club' })
  await board.client.projects.create({ name: 'Of the club', path, organizationId })
  expect(await cli.ok(['export'])).toBe('Club.board.json\n')
  expect(read('Club.board.json')).toMatchObject({ organization: { name: 'Club' }, projects: [{ name: 'Of the club' }] })
  expect(await cli.ok(['export', '--org', 'club', '-o', 'out.json'])).toBe('out.json\n')
  expect((await cli.json<Doc>(['import', 'board', 'out.json', '--org', 'Club'])).projectIds.length).toBe(1)
  expect((await board.client.projects.list({ organizationId })).length).toBe(2)
  await board.client.organizations.create({ name: 'Choir' })
  expect(await cli.board(['export'])).toMatchObject({
    code: 2,
    stderr: 'board: you administer several organizations\nname one with --org: Choir, Club\nsee: board orgs list\n',
  })
  const twin = await board.client.organizations.create({ name: 'Choir' })
  expect((await cli.board(['export'])).stderr).toMatch(
    new RegExp(String.raw`--org: Choir \(#\d+\), Choir \(#${twin.id}\), Club\n`),
  )
  expect((await cli.board(['export', '--org', `#${twin.id}`, '-o', '-'])).code).toBe(0)
  expect((await cli.board(['export', '--org', '99'])).code).toBe(3)
})

test('a temporary copy of stdin is deleted', () => {
  expect(readdirSync(board.folder('temporary'))).toEqual([])
})
