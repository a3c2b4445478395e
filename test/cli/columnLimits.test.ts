import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
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
const add = async (title: string, ...options: string[]) =>
  (await cli.ok(['cards', 'add', title, '-q', ...options])).trim()
const limits = async (): Promise<unknown[]> =>
  JSON.parse(await cli.ok(['columns', 'list', '--json', 'name,cardCount,wipLimit,pull']))

test('a limit is set, shown and removed, and a column pulls only with a limit', async () => {
  expect(await cli.board(['columns', 'edit', 'Done', '--pull'])).toMatchObject({
    code: 2,
    stderr: 'board: --limit is required for a column that pulls\n',
  })
  await cli.ok(['columns', 'edit', 'In Progress', '--limit', '3', '--pull'])
  await cli.ok(['columns', 'create', 'Review', '--type', 'active', '--limit', '2'])
  await add('one')
  await expect.poll(limits, { timeout: 20_000 }).toEqual([
    { name: 'Backlog', cardCount: 0, wipLimit: null, pull: false },
    { name: 'In Progress', cardCount: 1, wipLimit: 3, pull: true },
    { name: 'Done', cardCount: 0, wipLimit: null, pull: false },
    { name: 'Review', cardCount: 0, wipLimit: 2, pull: false },
  ])
  expect(await cli.board(['columns', 'edit', 'In Progress', '--no-limit'])).toMatchObject({ code: 2 })
  await cli.ok(['columns', 'edit', 'In Progress', '--no-limit', '--no-pull'])
  expect((await limits())[1]).toMatchObject({ wipLimit: null, pull: false })
  for (const wrong of ['0', '-1', 'x', '10001'])
    expect((await cli.board(['columns', 'edit', 'Done', '--limit', wrong])).stderr).toContain('--limit')
})

test('a full column rejects a card with the next steps, and accepts it with force', async () => {
  const [a, b, c, d] = [await add('a'), await add('b'), await add('c'), await add('d')]
  await cli.ok(['columns', 'edit', 'Done', '--limit', '1'])
  await cli.ok(['cards', 'complete', d])
  await cli.ok(['cards', 'archive', d])
  await cli.ok(['cards', 'complete', a])
  const refused = {
    code: 5,
    stderr:
      'board: the column Done is full: its limit is 1, and it has 1. Move a card out of it, raise its limit, or use force\nto add it anyway: --force\nsee: board columns list\n',
  }
  const ways = [
    ['cards', 'add', 'e', '--column', 'Done'],
    ['cards', 'move', b, '--to', 'Done'],
    ['cards', 'complete', c],
    ['cards', 'unarchive', d],
  ]
  expect(await cli.board(ways[0]!)).toMatchObject(refused)
  for (const words of ways) expect((await cli.board(words)).stderr, words.join(' ')).toContain('Done is full')
  for (const words of ways) await cli.ok([...words, '--force'])
  expect((await limits())[2]).toMatchObject({ cardCount: 5, wipLimit: 1 })
  await cli.ok(['cards', 'delete', b, '--yes'])
  expect((await cli.board(['cards', 'restore', b])).stderr).toContain('Done is full')
  await cli.ok(['cards', 'restore', b, '--force'])
})

test('of cards that move together, as many as fit are moved', async () => {
  const cards = [await add('a'), await add('b'), await add('c')]
  await cli.ok(['columns', 'edit', 'Done', '--limit', '2'])
  const moved = await cli.board(['cards', 'move', ...cards, '--to', 'Done'])
  expect(moved).toMatchObject({ code: 1 })
  expect(moved.stderr).toContain(`board: ${cards[2]}: the column Done is full`)
  expect((await limits())[2]).toMatchObject({ cardCount: 2 })
})

test('a key gets the error, and can force', async () => {
  const permissions = ['cards.read', 'cards.create', 'cards.move'] as const
  const made = await board.client.keys.create({ name: 'k', scope: 'project', projectId, permissions: [...permissions] })
  await cli.ok(['columns', 'edit', 'Done', '--limit', '1'])
  const keyed = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: made.key, BOARD_PROJECT: projectId })
  const [a, b] = [await add('a'), await add('b')]
  await keyed.ok(['cards', 'move', a, '--to', 'Done'])
  expect((await keyed.board(['cards', 'move', b, '--to', 'Done'])).stderr).toContain('Done is full')
  expect(JSON.parse(await keyed.ok(['columns', 'list', '--json', 'name,cardCount,wipLimit']))).toContainEqual({
    name: 'Done',
    cardCount: 1,
    wipLimit: 1,
  })
  await keyed.ok(['cards', 'move', b, '--to', 'Done', '--force'])
  await keyed.ok(['cards', 'add', 'c', '--column', 'Done', '--force'])
  await keyed.close()
})
