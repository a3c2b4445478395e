import { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findCommand, resolveCommand } from '../../cli/parsing/resolveCommand.ts'
import { whereToLook } from '../../cli/failures/report.ts'
import { createProgram } from '../../cli/program.ts'
import { commandLine, inTurn, type CommandLine } from '../support/commands/commandLine.ts'
import { parsed } from '../support/commands/shellLines.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { programs } from '../support/commands/programs.ts'

let board: TestBoard
let cli: CommandLine

beforeAll(async () => {
  board = await startBoard()
  const { id } = await board.client.projects.create({ name: 'cards', path: board.folder('work') })
  await board.client.cards.create({ projectId: id, title: 'First' })
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: id })
})
afterAll(async () => {
  cli.close()
  await board.close()
})

const errorOf = async (line: string) => {
  const { code, stdout, stderr } = await cli.board(line.split(' '))
  expect({ code, stdout }, line).toEqual({ code: 2, stdout: '' })
  return stderr.trimEnd().split('\n')
}

describe('an abbreviated command name', () => {
  test('selects the only command with that prefix, with options at any place', async () => {
    for (const line of ['car li -q', 'cards li -q', '-P cards car li -q', '-q card --project=cards lis'])
      expect(await cli.ok(line.split(' ')), line).toBe('1\n')
    expect(await cli.ok(['car', 'li', '--help'])).toMatch(/^Usage: board cards list /)
    expect(await cli.ok(['help', 'proj', 'memb', 'a'])).toMatch(/^Usage: board projects member add /)
    expect((await cli.ok(['__complete', '--', 'car', 'li', '--col'])).split('\t')[0]).toBe('--column')
  })

  test('never changes the value of an option or an argument', async () => {
    const { words } = await resolveCommand(createProgram(programs), ['-P', 'car', 'car', 'ad', 'li', '-c', 'don'])
    expect(words).toEqual(['-P', 'car', 'cards', 'add', 'li', '-c', 'don'])
    expect((await resolveCommand(createProgram(programs), ['--', 'car'])).words).toEqual(['--', 'car'])
    expect((await resolveCommand(createProgram(programs), ['card', 'list'])).words).toEqual(['card', 'list'])
  })

  test('lists the commands if several have that prefix', async () => {
    expect(await errorOf('cards re 1')).toEqual([
      'board: several commands start with "re"',
      'which one: board cards read, board cards ready, board cards repositories, board cards review, board cards restore',
      'see: board cards --help',
    ])
    expect((await errorOf('serv'))[1]).toBe('which one: board serve, board server')
  })

  test('prefers a complete name, and selects no hidden command', () => {
    const program = new Command('board')
    for (const name of ['serve', 'server', 'secret']) program.command(name, { hidden: name === 'secret' })
    expect(findCommand(program, 'serve')?.name()).toBe('serve')
    expect(findCommand(program, 'sec')).toBeUndefined()
    expect(findCommand(program, 'secret')?.name()).toBe('secret')
  })
})

describe('an unknown command', () => {
  const leads = [
    ['list', 'board cards list'],
    ['list projects', 'board projects list'],
    ['ls', 'board cards list, board fs ls'],
    ['rm 3', 'board cards delete'],
    ['del project web', 'board projects delete'],
    ['new', 'board cards add'],
    ['show 3', 'board cards view'],
    ['create x', 'board cards add, board projects create, board boards create'],
    ['login', 'board auth login'],
    ['issues', 'board cards'],
    ['organizations list', 'board orgs'],
    ['lst', 'board cards list'],
    ['keys rm 1', 'board keys revoke'],
    ['help lst', 'board cards list'],
    ['merge 12', 'board cards merge'],
    ['restore', 'board cards restore, board backups restore'],
    ['cost', 'board usage'],
    ['agents stop 3', 'board cards cancel'],
    ['how do I merge', 'board cards merge, board cards pr merge, board cards land'],
    ['password', 'board auth password'],
  ] as const

  test('suggests the most likely one: by its noun, its verb, a synonym, or a letter', async () => {
    const ended = await inTurn(
      cli,
      leads.map(([line]) => line.split(' ')),
    )
    expect(ended.map(({ code, stderr }, at) => [leads[at]![0], code, stderr.split('\n')[1]])).toEqual(
      leads.map(([line, meant]) => [line, 2, `did you mean: ${meant}`]),
    )
  })
})

test("each command in an error's hint is valid once its <names> are filled in", async () => {
  for (const line of Object.values(whereToLook)) {
    const words = line.replace(/<\w+>/g, '1').split(' ').slice(1)
    if (!line.endsWith('--help')) await expect(parsed(words), line).resolves.toBeTruthy()
  }
})

test('board config list shows every setting, its value and its effect', async () => {
  await cli.ok(['config', 'set', 'pager', 'less -R'])
  const lines = (await cli.ok(['config', 'list'])).trimEnd().split('\n')
  expect(lines).toContain('pager\tless -R\tThe command that shows long text (PAGER overrides it).')
  expect(await cli.ok(['config', 'get', '--json', 'key,value'])).toContain('{"key":"editor","value":null}')
})
