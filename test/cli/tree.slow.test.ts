import type { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fieldNames } from '../../cli/help/fieldNames.ts'
import { loadAll } from '../../cli/parsing/loadCommands.ts'
import { createProgram } from '../../cli/program.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { nameOf, type Named } from '../support/commands/commandWords.ts'
import { eachInTurn, everything, expectTidy, leaves, local, type Result } from '../support/commands/everyCommand.ts'
import type { TestBoard } from '../support/servers/testBoard.ts'
import { programs } from '../support/commands/programs.ts'
import { startSlotlessBoard } from '../support/contract/seed.ts'

/** Commands that need no sign-in. */
const open = /^(auth (setup|login|register|status|logout)|api|browse)\b/
/** Commands that end the work of others here: they come last, and the deletion of a board with its gates at the very end. */
const ends = [/(delete|archive|revoke|clear|complete)$/, /^boards delete$/]
const rankOf = (name: string) => ends.filter(pattern => pattern.test(name)).length
/** The exit codes of commands that fail because of the state of the board, or an empty stdin. */
const otherwise: Record<string, number> = {
  'agents answer': 5,
  'agents approve': 5,
  'agents relaunch': 5,
  'agents relay': 5,
  'agents retry': 5,
  'auth accept': 3,
  'auth login': 2,
  'auth password': 2,
  'auth register': 2,
  'auth setup': 5,
  'backups upload': 1,
  'cards approve': 5,
  'cards merge': 5,
  'cards pr close': 3,
  'cards pr continue': 3,
  'cards pr create': 5,
  'cards pr edit': 3,
  'cards land': 5,
  'landing remove': 5,
  'cards pr merge': 3,
  'cards pr view': 3,
  'cards push': 5,
  'cards update': 5,
  'credentials add': 2,
  'credentials verify': 1,
  'presession accept': 5,
  'presession start': 5,
}

let board: TestBoard
let signedIn: CommandLine
let alone: CommandLine
let program: Command
let commands: Command[]
let named: Named
let other: Named
let third: Named

beforeAll(async () => {
  board = await startSlotlessBoard()
  await board.client.auth.setup({ email: 'ada@example.org', password: 'correct horse' })
  named = await everything(board)
  other = await everything(board)
  third = await everything(board)
  signedIn = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token })
  alone = commandLine()
  program = await loadAll(createProgram(programs))
  commands = leaves(program)
})
afterAll(async () => {
  signedIn.close()
  alone.close()
  await board.close()
})

/** The commands that exit and keep the sign-in, with those that delete shared objects at the end. */
const working = () =>
  commands
    .filter(command => !/^(events|mcp|ui|auth logout)$/.test(nameOf(command)) && !local.test(nameOf(command)))
    .toSorted((a, b) => rankOf(nameOf(a)) - rankOf(nameOf(b)))

const exitsOf = (results: readonly Result[]) =>
  Object.fromEntries(results.map(({ name, code }) => [name, code]).toSorted())
const all = (results: readonly Result[], code: (name: string) => number) =>
  Object.fromEntries(results.map(({ name }) => [name, code(name)]).toSorted())

/** The commands whose output has other fields than the ones of completion and templates. */
function otherFields({ name, stdout }: Result): { name: string; printed: string[]; known: string[] }[] {
  const printed: unknown = stdout === '' ? [] : JSON.parse(stdout)
  const row: unknown = Array.isArray(printed) ? printed[0] : printed
  if (typeof row !== 'object' || row === null || name === 'api') return []
  const known = fieldNames(commands.find(command => nameOf(command) === name)!)
  const missing = Object.keys(row).filter(field => !known.includes(field))
  const extra = known.filter(field => !(field in row))
  return missing.length + extra.length > 0 ? [{ name, printed: missing, known: extra }] : []
}

/** These never ask (cards run), or only if more than one agent would start or a second project would be created. */
const askingSometimes = new Set([
  'cards comment',
  'cards move',
  'cards pr close',
  'cards run',
  'cards approve',
  'import',
  'projects worktree',
])

describe('every command', () => {
  test('reports a missing server, and exits with 7', async () => {
    const results = await eachInTurn(
      alone,
      commands.filter(command => !local.test(nameOf(command))),
      ['--no-input'],
      named,
    )
    expect(exitsOf(results)).toEqual(all(results, () => 7))
    results.forEach(expectTidy)
    expect(results.filter(({ stdout }) => stdout !== '')).toEqual([])
  })

  // The terminal board first checks for a terminal, which is also missing here.
  test('reports a missing sign-in, and exits with 4', async () => {
    const chosen = commands.filter(
      command => !local.test(nameOf(command)) && !open.test(nameOf(command)) && nameOf(command) !== 'ui',
    )
    const results = await eachInTurn(alone, chosen, ['--no-input', '--url', board.url, '-P', named.projectId], named)
    expect(exitsOf(results)).toEqual(all(results, () => 4))
    results.forEach(expectTidy)
  })

  test('prints JSON and nothing else on stdout with --json', async () => {
    const results = await eachInTurn(signedIn, working(), ['--json', '-P', named.projectId], named)
    expect(exitsOf(results)).toEqual(all(results, name => otherwise[name] ?? 0))
    results.forEach(expectTidy)
    for (const { name, stdout } of results)
      if (stdout !== '')
        expect(() => {
          JSON.parse(stdout)
        }, name).not.toThrow()
    expect(results.flatMap(otherFields)).toEqual([])
  })

  test('prints lines without a header in a pipe, and with -q no result', async () => {
    const results = await eachInTurn(signedIn, working(), ['-q', '-P', other.projectId], other)
    expect(exitsOf(results)).toEqual(all(results, name => otherwise[name] ?? 0))
    results.forEach(expectTidy)
    expect(
      results.filter(({ code, stderr }) => code === 0 && stderr !== '').map(({ name, stderr }) => ({ name, stderr })),
    ).toEqual([])
    for (const { name, stdout } of results.filter(({ name }) => /(list|add|create|edit|search|run)$/.test(name)))
      expect(stdout, name).toMatch(/^(\S+\n)*$/)
  })

  test('with a confirmation exits with 2 without a terminal, and names the flag', async () => {
    const asking = commands.filter(
      command =>
        command.options.some(({ long }) => long === '--yes') &&
        !askingSometimes.has(nameOf(command)) &&
        !local.test(nameOf(command)) &&
        !nameOf(command).startsWith('settings'),
    )
    const results = await eachInTurn(
      signedIn,
      asking,
      ['-P', third.projectId],
      third,
      word => word !== '--yes' && word !== '--dry-run',
    )
    expect(
      results
        .filter(({ code, stderr }) => code !== 2 || !stderr.includes('--yes'))
        .map(({ name, code, stderr }) => ({ name, code, stderr })),
    ).toEqual([])
  })
})
