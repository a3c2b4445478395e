import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let cli: CommandLine
let projectId: string
beforeAll(async () => void (board = await startBoard()))
afterAll(() => board.close())
beforeEach(async () => {
  projectId = (await board.client.projects.create({ name: 'p', path: board.folder('p') })).id
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: projectId })
  return () => cli.close()
})
const add = async (name: string, ...options: string[]) =>
  (await cli.ok(['schedules', 'add', name, '-q', ...options])).trim()
const schedules = () => board.client.schedules.list({ projectId })

describe('board schedules', () => {
  test('adds, lists, shows, changes, runs and deletes', async () => {
    const when = ['--cron', '0 9 * * 1-5', '--time-zone', 'Europe/Berlin', '--overlap', 'queue', '--catch-up', 'one']
    const what = ['--title', 'Report {date}', '-c', 'In Progress', '-l', 'chore', '--priority', 'high']
    const id = await add('Nightly', ...when, ...what, '--prompt', 'Write it')
    const [made] = await schedules()
    expect(made).toMatchObject({
      id,
      cron: '0 9 * * 1-5',
      timeZone: 'Europe/Berlin',
      overlap: 'queue',
      catchUp: 'one',
      template: { title: 'Report {date}', prompt: 'Write it', labels: ['chore'], priority: 'high' },
    })
    expect(await cli.ok(['schedules', 'list'])).toBe(
      `${id}\tNightly\t0 9 * * 1-5 (Europe/Berlin)\t${made!.nextRunAt}\t\t\ton\n`,
    )
    expect(await cli.ok(['schedules', 'view', 'nightly'])).toContain(`nextRuns\t${made!.nextRuns.join(', ')}\n`)
    const { stdout: seen } = await cli.board(['schedules', 'view', id], { env: { BOARD_FORCE_TTY: '120' } })
    expect(seen).toMatch(/\w{3} \d{4}-\d\d-\d\d 09:00, /)

    await cli.ok(['schedules', 'edit', 'Nightly', '--every', '2h', '-c', 'none', '-l', 'none', '--disable'])
    expect((await schedules())[0]).toMatchObject({
      everySecs: 7200,
      cron: null,
      enabled: false,
      template: { columnId: null, labels: [] },
    })
    const cardId = (await cli.ok(['schedules', 'run', id, '-q'])).trim()
    expect((await board.client.cards.get({ projectId, cardId })).title).toBe(
      `Report ${new Date().toLocaleDateString('en-CA', { timeZone: 'Europe/Berlin' })}`,
    )
    expect((await schedules())[0]!.lastCardId).toBe(cardId)
    await cli.ok(['schedules', 'delete', 'nightly', '--yes'])
    expect(await schedules()).toEqual([])
  })

  test('shows the next runs before it adds a schedule', async () => {
    const { stdout, stderr } = await cli.board([
      'schedules',
      'add',
      'x',
      '--cron',
      '0 0 29 2 *',
      '--time-zone',
      'UTC',
      '--dry-run',
    ])
    expect(stdout.split('\n').filter(Boolean)).toHaveLength(3)
    for (const line of stdout.split('\n').filter(Boolean)) expect(line).toMatch(/^\d{4}-02-29T00:00:00\.000Z$/)
    expect(stderr).toBe('Would run at these times (UTC):\n')
    expect(await schedules()).toEqual([])
  })

  test.each([
    [['add', 'x'], 2, 'specify either --cron or --every'],
    [['add', 'x', '--cron', '0 9 * * *', '--every', '1d'], 2, 'specify either --cron or --every'],
    [['add', 'x', '--every', '30s'], 2, 'must be at least 60s'],
    [['add', 'x', '--cron', '0 9 30 2 *'], 2, 'cron must match a future time'],
    [['add', 'x', '--every', '1d', '--time-zone', 'Mars/Olympus'], 2, 'timeZone must be a time zone'],
    [['add', 'x', '--every', '1d', '-c', 'Nowhere'], 3, 'there is no column "Nowhere"'],
    [['edit', 'x'], 3, 'there is no schedule "x"'],
    [['run', '7'], 3, 'there is no schedule "7"'],
    [['delete', 'x', '--no-input'], 3, 'there is no schedule "x"'],
  ])('reports the error in %j', async (args, code, message) => {
    const ran = await cli.board(['schedules', ...args])
    expect([ran.code, ran.stderr]).toEqual([code, expect.stringContaining(message)])
  })

  test('asks before it deletes, and changes nothing without options', async () => {
    const id = await add('kept', '--every', '1d')
    expect((await cli.board(['schedules', 'delete', id])).code).toBe(2)
    expect(await cli.board(['schedules', 'edit', id])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('nothing to change'),
    })
    expect(await schedules()).toHaveLength(1)
  })

  test('works with an API key that can write schedules and cards', async () => {
    const { key } = await board.client.keys.create({
      name: 'k',
      scope: 'project',
      projectId,
      permissions: ['schedules.write', 'cards.create', 'cards.read'],
    })
    const env = { BOARD_TOKEN: key }
    const id = (await cli.ok(['schedules', 'add', 'by key', '--every', '1d', '-q'], { env })).trim()
    expect((await cli.ok(['schedules', 'run', id, '-q'], { env })).trim()).toMatch(/^\d+$/)
    await cli.ok(['schedules', 'delete', id, '--yes'], { env })
  })
})

test('a start time can be set and removed on cards', async () => {
  const id = (await cli.ok(['cards', 'add', 'later', '--run', '--start-at', '2h', '-q'])).trim()
  const card = await board.client.cards.get({ projectId, cardId: id })
  expect(card).toMatchObject({ columnName: 'In Progress', ready: false, status: 'idle' })
  expect(Date.parse(card.startAt!) - Date.now()).toBeGreaterThan(7_190_000)
  expect(await cli.ok(['cards', 'view', id])).toContain(`startAt\t${card.startAt}\n`)
  const { code, stderr } = await cli.board(['cards', 'run', id])
  expect([code, stderr]).toEqual([5, expect.stringContaining('the card starts at')])
  await cli.ok(['cards', 'edit', id, '--no-start-at'])
  expect(await board.client.cards.get({ projectId, cardId: id })).toMatchObject({ startAt: null, ready: true })
  const { stderr: told } = await cli.board(['cards', 'add', 'back', '--start-at', '2030-01-31'])
  expect(told).toContain('starts automatically only in an active column')
})
