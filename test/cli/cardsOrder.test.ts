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
const add = async (title: string, ...options: string[]) =>
  (await cli.ok(['cards', 'add', title, '-q', ...options])).trim()

describe('cards that wait for others', () => {
  test('are added, listed and shown, and can be unblocked', async () => {
    const [a, b] = [await add('a'), await add('b')]
    const c = await add('c', '--blocked-by', `${a},#${b}`, '--parent', a)
    expect(await cli.ok(['cards', 'ready', '-q'])).toBe(`${a}\n${b}\n`)
    expect(await cli.ok(['cards', 'ready', '--limit', '1', '-q'])).toBe(`${a}\n`)
    expect(await cli.ok(['cards', 'list', '--blocked', '-q'])).toBe(`${c}\n`)
    expect(await cli.ok(['cards', 'list', '--ready', '-q'])).toBe(`${a}\n${b}\n`)
    expect(await cli.ok(['cards', 'view', c])).toMatch(new RegExp(`blockedBy\\t${a}, ${b}\\nparentId\\t${a}\\n`))
    expect(await cli.ok(['cards', 'view', a])).toContain('children\t0 of 1 done\n')
    expect(await cli.json(['cards', 'block', c, '--remove', a])).toMatchObject({ blockedBy: [b] })
    expect((await cli.board(['cards', 'block', c, '--remove', a])).stderr).toContain(
      `card ${c} was not blocked by card ${a}`,
    )
    await cli.ok(['cards', 'complete', b])
    expect(await cli.ok(['cards', 'ready', '-q'])).toBe(`${a}\n${c}\n`)
    expect(await cli.json(['cards', 'block', c, '--by', `${a},${b}`])).toMatchObject({
      blocked: true,
      blockedBy: [a, b],
    })
    await cli.ok(['cards', 'edit', c, '--parent', 'none'])
    expect(await cli.json(['cards', 'view', c])).toMatchObject({ parentId: null })
  })

  test('state the cards they wait for, and how to start anyway', async () => {
    const a = await add('a')
    const b = await add('b', '--blocked-by', a)
    expect(await cli.board(['cards', 'run', b])).toMatchObject({
      code: 5,
      stderr: `board: the card is blocked by card ${a}\nto start it anyway: --force\nsee: board cards ready\n`,
    })
    for (const words of [
      ['cards', 'run', b, '--force'],
      ['agents', 'relaunch', b, '--force'],
    ])
      expect((await cli.board(words)).stderr).not.toContain('waits for')
    expect((await cli.board(['cards', 'move', b, '--to', 'In Progress'])).stderr).toContain(
      `no agent started: the card is blocked by card ${a} (see: board cards block ${b})`,
    )
    expect(await cli.board(['cards', 'delete', a, '--yes'])).toMatchObject({
      code: 5,
      stderr: expect.stringContaining(`the card blocks card ${b}, which would stay blocked`),
    })
    await cli.ok(['cards', 'delete', a, '--yes', '--force'])
  })

  test('start at a branch, or at that of another card', async () => {
    const a = await add('a')
    const b = await add('b', '--base-card', a)
    const shown = () => cli.json<{ base: string | null; baseCardId: string | null }>(['cards', 'view', b])
    expect(await shown()).toMatchObject({ base: null, baseCardId: a })
    await cli.ok(['cards', 'edit', b, '--base', 'release/2.0'])
    expect(await shown()).toMatchObject({ base: 'release/2.0', baseCardId: null })
    await cli.ok(['cards', 'edit', b, '--base', 'none'])
    expect(await shown()).toMatchObject({ base: null, baseCardId: null })
    expect(await cli.board(['cards', 'edit', b, '--base', 'a..b'])).toMatchObject({
      stderr: expect.stringContaining('must be the name of a branch or tag, or a commit'),
    })
    expect(await cli.board(['cards', 'add', 'c', '--base', 'x', '--base-card', a])).toMatchObject({ code: 2 })
  })

  test('reject cycles, missing cards and invalid ids', async () => {
    const a = await add('a')
    const b = await add('b', '--blocked-by', a)
    expect(await cli.board(['cards', 'block', a, '--by', b])).toMatchObject({
      code: 5,
      stderr: `board: the cards would block each other: ${a} waits for ${b} waits for ${a}\n`,
    })
    expect(await cli.board(['cards', 'block', a, '--by', '999'])).toMatchObject({
      code: 3,
      stderr: 'board: card 999 is not in this project\nsee: board cards list\n',
    })
    expect(await cli.board(['cards', 'block', a, '--by', 'x'])).toMatchObject({ code: 3 })
    expect(await cli.board(['cards', 'block', a, '--by', b, '--remove', b])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`--by and --remove both name card ${b}`),
    })
  })
})
