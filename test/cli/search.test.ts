import { afterAll, beforeAll, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let server: TestBoard
let cli: CommandLine
let projectId: string

beforeAll(async () => {
  server = await startBoard()
  cli = commandLine({ BOARD_URL: server.url, BOARD_TOKEN: server.token })
  projectId = (await server.client.projects.create({ name: 'web', path: server.folder('web') })).id
  await server.client.projects.create({ name: 'other', path: server.folder('other') })
  for (const title of ['Fix the login', 'Log out everywhere', 'Fix \u001b[31mthe\u001b[0m footer'])
    await server.client.cards.create({ projectId, title, prompt: 'The page says why.' })
})
afterAll(async () => {
  cli.close()
  await server.close()
})

test('cards are found in all projects or one, as a table, as lines and as ids', async () => {
  expect(await cli.ok(['search', 'login', 'says'])).toBe(
    'card\t1\tweb\tFix the login\tBacklog\tidle\tThe page says why.\t\n',
  )
  expect(await cli.ok(['search', 'fix', '-q', '-P', 'web'])).toBe('3\n1\n')
  expect(await cli.ok(['search', 'fix', '-P', 'other'])).toBe('')
  expect(await cli.json(['search', 'nothing-like-it'])).toEqual([])
  const table = await cli.ok(['search', 'footer'], { env: { BOARD_FORCE_TTY: '100', NO_COLOR: '1' } })
  expect(table).toMatch(/^TYPE +ID +PROJECT/)
  expect(table).not.toContain('\u001b')
})

test('a card that is found by a comment or its last message shows the match', async () => {
  const { id: cardId } = await server.client.cards.create({ projectId, title: 'Quiet' })
  await server.client.comments.create({ projectId, cardId, body: 'The flotsam is in the way.' })
  expect(await cli.ok(['search', 'flotsam'])).toBe(
    `card\t${cardId}\tweb\tQuiet\tBacklog\tidle\tThe flotsam is in the way.\tin a comment by Local operator\n`,
  )
  const table = await cli.ok(['search', 'flotsam'], { env: { BOARD_FORCE_TTY: '140', NO_COLOR: '1' } })
  expect(table).toContain('in a comment by Local operator')
  expect(await cli.json(['search', 'flotsam'])).toMatchObject([{ foundIn: 'comment', author: 'Local operator' }])
  await server.client.cards.delete({ projectId, cardId })
})

test('a word is required, and special characters alone are not one', async () => {
  expect(await cli.board(['search'])).toMatchObject({ code: 2, stdout: '' })
  const signs = await cli.board(['search', '***'])
  expect(signs).toMatchObject({ code: 2, stdout: '' })
  expect(signs.stderr).toContain('q must contain a letter or a digit')
})

test('statistics are bars on a terminal, lines in a pipe and one object as JSON', async () => {
  expect(await cli.ok(['stats', 'web'])).toBe(
    'column\tBacklog\t3\ncolumn\tIn Progress\t0\ncolumn\tDone\t0\nstatus\tidle\t3\n',
  )
  expect(await cli.ok(['stats', '-P', 'web', '--by', 'day'])).toMatch(/^\d{4}-\d\d-\d\d\t3\t0\t0\t0\tidle 3\n$/)
  expect(await cli.json(['stats', 'web'])).toMatchObject({
    stats: { total: 3 },
    days: [{ backlog: 3, byStatus: { idle: 3 } }],
  })
  const drawn = await cli.ok(['stats', 'web'], { env: { BOARD_FORCE_TTY: '60', NO_COLOR: '1' } })
  expect(drawn).toMatch(/^web: 3 cards, 0 tokens in 0 sessions\n\nBacklog {6}█{40,50} 3\n/)
  expect(Math.max(...drawn.split('\n').map(line => [...line].length))).toBeLessThanOrEqual(60)
})

test('the burn-up chart has a curve for all cards and one for done cards', async () => {
  const { db } = server.server.app
  await db.transaction(async tx => {
    for (let age = 1; age <= 20; age++)
      await tx.run('INSERT INTO project_days VALUES (?, ?, 10, 0, ?, 0, ?)', [
        Number(projectId),
        new Date(Date.now() - age * 86_400_000).toISOString().slice(0, 10),
        20 - age,
        JSON.stringify({ idle: 10, ...(age <= 10 && { completed: 20 - age }) }),
      ])
  })
  const drawn = await cli.ok(['stats', 'web', '--by', 'day'], { env: { BOARD_FORCE_TTY: '80', NO_COLOR: '1' } })
  expect(drawn).toContain('all cards and done, ')
  expect(drawn.match(/[┏┓┗┛━]/g)!.length).toBeGreaterThan(40)
  // In the last ten days before today, ten completed cards become nineteen.
  expect(drawn).toMatch(/\nidle {7}▅{20}▂ {2}3\n/)
  expect(drawn).toMatch(/\ncompleted {12}[▅▆▇█]{10} {3}0\n/)
  expect(await cli.json(['stats', 'web', '--by', 'day', '--since', '5d'])).toHaveLength(6)
})

test('a document of the server is opened with the browser that the environment names, or its address printed', async () => {
  const docs = `${server.url}/docs`
  expect(await cli.ok(['browse', 'docs', '--print'])).toBe(`${docs}\n`)
  expect(await cli.ok(['browse', 'docs'], { env: { BROWSER: 'true' } })).toBe(`${docs}\n`)
  const terminal = { BOARD_FORCE_TTY: '100' }
  expect(await cli.board(['browse', 'docs', '--jq', '.url'], { env: { ...terminal, BROWSER: 'true' } })).toMatchObject({
    code: 0,
    stdout: `${docs}\n`,
    stderr: '',
  })
  expect(await cli.board(['browse', 'docs'], { env: { ...terminal, BROWSER: 'true' } })).toMatchObject({
    stdout: '',
    stderr: `Opened ${docs}\n`,
  })
  const none = { ...terminal, BROWSER: '', DISPLAY: '', WAYLAND_DISPLAY: '' }
  const printed = await cli.board(['browse', 'docs'], { env: none })
  expect(printed).toMatchObject({ code: 0, stdout: `${docs}\n` })
  expect(printed.stderr).toContain('No browser was found')
})
