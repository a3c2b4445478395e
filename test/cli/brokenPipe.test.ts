import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { writeStream } from '../../cli/output/streams.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { eventually } from '../support/waiting/eventually.ts'

const program = resolve(import.meta.dirname, '../../bin/board.js')
let board: AgentBoard
let cli: CommandLine
let cardId: string
let organization: string
let backup: string
beforeAll(async () => {
  board = await startFolderBoard({})
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: board.projectId })
  cardId = (await board.client.cards.create({ projectId: board.projectId, title: 'Big' })).id
  organization = (await cli.ok(['orgs', 'create', 'Piped', '-q'])).trim()
  await cli.ok(['projects', 'create', 'Piped', '--path', cli.home, '--org', organization, '-y', '-q'])
  backup = (await cli.ok(['backups', 'create', '-q'])).trim()
  writeFileSync(join(cli.home, 'big.bin'), randomBytes(600_000))
  writeFileSync(join(board.path, 'big.txt'), 'line\n'.repeat(200_000))
  await cli.ok(['cards', 'attach', cardId, join(cli.home, 'big.bin')])
})
afterAll(async () => {
  cli?.close()
  await board?.close()
})

/** Starts a command whose reader ends after the first bytes. */
function startWithHead(words: string[]): { stderr: string; code: number | null | undefined; kill(): void } {
  const child = spawn(process.execPath, [program, ...words], { env: cli.env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ran = { stderr: '', code: undefined as number | null | undefined, kill: () => void child.kill() }
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    ran.stderr += text
  })
  child.stdout.once('data', () => child.stdout.destroy())
  child.once('exit', code => {
    ran.code = code
  })
  return ran
}

describe('a reader that ends early', () => {
  test.each([
    ['cards download', () => ['cards', 'download', '1', '-o', '-']],
    ['projects export', () => ['projects', 'export', '-o', '-']],
    ['export', () => ['export', '-o', '-', '--org', organization]],
    ['backups download', () => ['backups', 'download', backup, '-o', '-']],
    ['fs cat', () => ['fs', 'cat', join(board.path, 'big.txt')]],
    ['cards list', () => ['cards', 'list', '--json']],
  ])('ends %s silently with exit code 0', async (_, words) => {
    const ran = startWithHead(words())
    await eventually('the end', () => ran.code !== undefined, 20_000)
    expect(ran).toMatchObject({ code: 0, stderr: '' })
  })

  test.each([
    ['a command', 'echo x'],
    ['a command that leaves a program in the background', 'echo x; sleep 100 &'],
  ])('ends events --exec with %s, whose output is printed until then', async (_, command) => {
    const ran = startWithHead(['events', '--exec', command])
    for (let count = 0; ran.code === undefined && count < 60; count++) {
      await board.client.cards.update({ projectId: board.projectId, cardId, title: `Big ${count}` })
      await new Promise(done => setTimeout(done, 250))
    }
    if (ran.code === undefined) ran.kill()
    expect(ran).toMatchObject({ code: 0, stderr: '' })
  })
})

test('consecutive streams leave no listeners on stdout', async () => {
  const listeners = () => process.stdout.eventNames().map(name => process.stdout.listenerCount(name))
  await writeStream(Readable.from([]))
  const before = listeners()
  for (let count = 0; count < 12; count++) await writeStream(Readable.from([]))
  expect(listeners()).toEqual(before)
})
