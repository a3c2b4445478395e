import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

let server: TestBoard
let cli: CommandLine

beforeAll(async () => {
  server = await startBoard()
  cli = commandLine({ BOARD_URL: server.url, BOARD_TOKEN: server.token, BOARD_PROJECT: 'web', BOARD_FORCE_TTY: '100' })
})
afterAll(async () => {
  cli.close()
  await server.close()
})

test('cards list --watch redraws the list on each change', async () => {
  const { id: projectId } = await server.client.projects.create({ name: 'web', path: server.folder('web') })
  await server.client.cards.create({ projectId, title: 'There before \u001b[31m' })
  const child = spawn(
    process.execPath,
    [resolve(import.meta.dirname, '..', '..', 'bin', 'board.js'), 'cards', 'list', '-c', 'Backlog', '--watch'],
    { env: cli.env, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const closed = new Promise<number | null>(done => {
    child.on('close', (code, signal) => done(signal === 'SIGINT' ? 130 : code))
  })
  let drawn = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    drawn += text
  })
  await eventually('the first drawing', () => drawn.includes('There before'), 10_000)
  expect(drawn).toContain('1 card')
  expect(drawn).not.toContain('before \u001b[31m')
  // The subscription can start after the first drawing, so cards are added until one is seen.
  let added = 0
  await eventually('a drawing with a new card', async () => {
    if (!drawn.includes('Came later')) await server.client.cards.create({ projectId, title: `Came later ${added++}` })
    return drawn.includes('Came later')
  })
  child.kill('SIGINT')
  expect([0, 130]).toContain(await closed)
})
