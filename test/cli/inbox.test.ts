import { afterAll, beforeAll, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let server: TestBoard
let cli: CommandLine

beforeAll(async () => {
  server = await startBoard()
  cli = commandLine({ BOARD_URL: server.url, BOARD_TOKEN: server.token })
  for (const name of ['web', 'api']) {
    const { id: projectId } = await server.client.projects.create({ name, path: server.folder(name) })
    for (const dueAt of ['2026-01-02T10:00:00Z', '2026-01-01T10:00:00Z'])
      await server.client.cards.create({ projectId, title: `Due ${dueAt.slice(0, 10)}`, dueAt })
  }
})
afterAll(async () => {
  cli.close()
  await server.close()
})

test('lists the inbox of all projects or of one, newest first', async () => {
  expect(await cli.ok(['inbox', '-q'])).toBe('due-3\ndue-1\ndue-4\ndue-2\n')
  expect(await cli.ok(['inbox', 'list', '-P', 'api', '--kind', 'due', '--limit', '1'])).toBe(
    'due-3\tunread\tapi\tDue 2026-01-02\t2026-01-02T10:00:00.000Z\tThe card was due at 2026-01-02 10:00 UTC.\n',
  )
  expect(await cli.json(['inbox', '--kind', 'mention'])).toEqual([])
  const table = await cli.ok(['inbox'], { env: { BOARD_FORCE_TTY: '120', NO_COLOR: '1' } })
  expect(table).toMatch(/^ID +STATE +PROJECT +CARD +SINCE +TEXT/)
})

test('marks items, all items of a card, and the items from a pipe', async () => {
  expect(await cli.ok(['inbox', 'read', 'due-1'])).toBe('due-1\tread\n')
  expect(await cli.ok(['inbox', '--state', 'unread', '-q'])).toBe('due-3\ndue-4\ndue-2\n')
  expect(await cli.ok(['inbox', 'done', '#2'])).toBe('due-2\tdone\n')
  expect(await cli.ok(['inbox', 'snooze', '-', '--until', '3h'], { input: 'due-3\tDue\ndue-4\n' })).toBe(
    'due-3\tsnoozed\ndue-4\tsnoozed\n',
  )
  expect(await cli.ok(['inbox', '-q'])).toBe('due-1\n')
  expect(await cli.json(['inbox', '--state', 'snoozed'])).toMatchObject([{ id: 'due-4' }, { id: 'due-3' }])
  expect(await cli.ok(['inbox', 'reopen', '2', '3', '4', '-q'])).toBe('due-4\ndue-3\ndue-2\n')
  expect(await cli.ok(['inbox', 'done', '--all', '-P', 'web', '-q'])).toBe('due-1\ndue-2\n')
  expect(await cli.ok(['inbox', '-q'])).toBe('due-3\ndue-4\n')
})

test.each([
  [['done'], 2, 'no item is specified'],
  [['done', 'due-3', '--all'], 2, '--all does not accept items'],
  [['snooze', 'due-3'], 2, '--until <time> is required'],
  [['done', 'other-3'], 3, 'there is no item "other-3"'],
  [['done', 'due-3', 'mention-3'], 3, 'not in your inbox: mention-3'],
])('inbox %j exits with %i', async (words, code, message) => {
  const { stderr, ...result } = await cli.board(['inbox', ...words])
  expect(result.code).toBe(code)
  expect(stderr).toContain(message)
})
