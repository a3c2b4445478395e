import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let cli: CommandLine
let ada: string
let card: string
beforeAll(async () => {
  board = await startBoard()
  ada = (
    await board.client.auth.setup({ email: 'ada@example.org', password: 'a long password', displayName: 'Ada L.' })
  ).user.id
})
afterAll(() => board.close())
beforeEach(async () => {
  const { id } = await board.client.projects.create({ name: 'p', path: board.folder('p') })
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: id })
  card = (await cli.ok(['cards', 'add', 'a', '-q'])).trim()
  return () => cli.close()
})
const bodies = async () =>
  ((await cli.json(['cards', 'comment', card])) as Array<{ body: string }>).map(each => each.body)

describe('comments', () => {
  test('are written, read, edited and deleted', async () => {
    const id = (await cli.ok(['cards', 'comment', card, 'First', '-q'])).trim()
    const file = join(board.folder('texts'), 'text.md')
    writeFileSync(file, 'Second\n\nwith **more**\n')
    await cli.ok(['cards', 'comment', `#${card}`, '-F', file])
    expect(await bodies()).toEqual(['First', 'Second\n\nwith **more**\n'])
    expect(await cli.json(['cards', 'comment', card, '--edit', id, 'Better'])).toMatchObject({
      id,
      body: 'Better',
      author: { displayName: 'Ada L.' },
    })
    expect((await cli.ok(['cards', 'comment', card])).split('\n')[0]).toMatch(
      new RegExp(`^${id}\tAda L\\.\t\\S+\tBetter$`),
    )
    expect(await cli.board(['cards', 'comment', card, '--delete', id])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--yes'),
    })
    await cli.ok(['cards', 'comment', card, '--delete', id, '--yes'])
    expect(await bodies()).toHaveLength(1)
    expect(await cli.board(['cards', 'comment', card, '--delete', id, '--yes'])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`see: board cards comment`),
    })
  })

  test('mention users by name', async () => {
    await cli.ok(['cards', 'comment', card, 'Look', '--mention', 'ada l.,me'])
    expect(await bodies()).toEqual([`@[Ada L.](${ada}) Look`])
    expect(await cli.board(['cards', 'comment', card, 'Look', '--mention', 'nobody'])).toMatchObject({ code: 3 })
  })

  test('show the newest last, up to the requested number, with sanitized control characters', async () => {
    for (const text of ['1', '2', '\u001b[2Jthree']) await cli.ok(['cards', 'comment', card, text])
    expect(await cli.board(['cards', 'comment', card, '--limit', '2'])).toMatchObject({
      stdout: expect.stringMatching(/^\d+\t.*\t2\n\d+\t.*\t␛\[2Jthree\n$/),
      stderr: expect.stringContaining('there are more comments; these are the newest 2'),
    })
    const shown = await cli.ok(['cards', 'comment', card], { env: { BOARD_FORCE_TTY: '80' } })
    expect(shown).toMatch(/^Ada L\., .* · \d+\n {2}1\n/)
    expect(shown).not.toContain('\u001b[2J')
  })

  test.each([
    [['--edit', '1'], 'which text?'],
    [['--delete', '1', 'text'], '--delete does not accept a text'],
    [['text', '-F', 'file'], 'both'],
  ])('with %s are rejected', async (words, message) => {
    expect(await cli.board(['cards', 'comment', card, ...words])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(message),
    })
  })
})

describe('activity', () => {
  test('is printed as sentences, the newest first', async () => {
    await cli.ok(['cards', 'edit', card, '--title', 'b'])
    await cli.ok(['cards', 'move', card, '--to', 'Done'])
    await cli.ok(['cards', 'comment', card, 'Well'])
    const lines = (await cli.ok(['cards', 'activity', card]))
      .trim()
      .split('\n')
      .map(line => line.split('\t'))
    expect(lines.map(([, who, action, what]) => [who, action, what])).toEqual([
      ['Ada L.', 'comment.created', 'commented'],
      ['Ada L.', 'card.moved', 'moved it from Backlog to Done'],
      ['Ada L.', 'card.updated', 'changed title: a → b'],
      ['Ada L.', 'card.created', 'created it in Backlog'],
    ])
    const newest = await cli.ok(['cards', 'activity', card, '--limit', '1', '--json', 'action,changes'])
    expect(JSON.parse(newest)).toEqual([{ action: 'comment.created', changes: [] }])
  })
})
