import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newCard } from '../support/agents/agentRows.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let cli: CommandLine
let projectId: string
let cardId: string

beforeAll(async () => {
  board = await startBoard()
  ;({ projectId, cardId } = await newCard(board))
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: projectId })
  for (const name of ['a.txt', 'b.txt', 'c.txt']) writeFileSync(join(cli.home, name), `${name}\n`)
})
afterAll(async () => {
  cli.close()
  await board.close()
})

test('files are attached, listed by card and by project, downloaded and deleted', async () => {
  const other = (await board.client.cards.create({ projectId, title: 'Other', deferred: true })).id
  const ids = (await cli.ok(['cards', 'attach', cardId, 'a.txt', 'b.txt', '-q'])).trim().split('\n')
  const third = (await cli.ok(['cards', 'attach', other, 'c.txt', '-q'])).trim()
  expect((await cli.ok(['cards', 'attachments', cardId, '-q'])).trim().split('\n')).toEqual(ids)
  expect(
    (await cli.ok(['cards', 'attachments']))
      .trim()
      .split('\n')
      .map(line => line.split('\t').slice(0, 3)),
  ).toEqual([
    [third, other, 'c.txt'],
    [ids[1], cardId, 'b.txt'],
    [ids[0], cardId, 'a.txt'],
  ])
  expect((await cli.ok(['cards', 'download', third, '-o', 'copy.txt'])).trim()).toBe('copy.txt')
  expect(readFileSync(join(cli.home, 'copy.txt'), 'utf8')).toBe('c.txt\n')
  expect(await cli.board(['cards', 'detach', third])).toMatchObject({
    code: 2,
    stderr: `board: this command cannot prompt: Delete attachment ${third}?\nspecify --yes\n`,
  })
  expect(await cli.ok(['cards', 'detach', '-', '--yes'], { input: `${third}\n` })).toBe(`${third}\tdeleted\n`)
  expect(await cli.board(['cards', 'detach', third, '--yes'])).toMatchObject({ code: 3 })
  expect((await cli.ok(['cards', 'attachments', '-q'])).trim().split('\n')).toEqual(ids.toReversed())
})

test('--limit truncates both lists, and reports that there are more, but not with -q', async () => {
  await cli.ok(['cards', 'attach', cardId, 'a.txt', 'b.txt', '-q'])
  const all = (await cli.ok(['cards', 'attachments', '--all', '-q'])).trim().split('\n')
  for (const [args, id, which] of [
    [[], all[0], 'newest'],
    [[cardId], all.at(-1), 'first'],
  ] as const) {
    const cut = ['cards', 'attachments', ...args, '--limit', '1']
    expect(await cli.board([...cut, '-q'])).toEqual({ code: 0, stdout: `${id}\n`, stderr: '' })
    expect(await cli.board(cut)).toEqual({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`^${id}\\t.*\\n$`)) as string,
      stderr: `warning: there are more attachments; these are the ${which} 1. --all lists every attachment\n`,
    })
  }
})
