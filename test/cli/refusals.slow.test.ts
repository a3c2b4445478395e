import type { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exits } from '../../cli/failures/failure.ts'
import { loadAll } from '../../cli/parsing/loadCommands.ts'
import { createProgram } from '../../cli/program.ts'
import { commandLine, inTurn, type CommandLine } from '../support/commands/commandLine.ts'
import { nameOf, wordsOf, type Named } from '../support/commands/commandWords.ts'
import { everything, leaves, type Result } from '../support/commands/everyCommand.ts'
import type { TestBoard } from '../support/servers/testBoard.ts'
import { startSlotlessBoard } from '../support/contract/seed.ts'
import { below, boardLines, parsed } from '../support/commands/shellLines.ts'
import { programs } from '../support/commands/programs.ts'

/** Commands that never end, or change this machine. Other tests cover their errors. */
const elsewhere = /^(serve|server (start|restart|install|uninstall)|completion|doctor|auth logout|events|mcp)$/
/** Errors of Node, a driver or JavaScript that are not worded for users. */
const raw =
  /\b(E(NOENT|CONN\w+|PROTO|PIPE|ACCES|PERM|ISDIR|NOTDIR|EXIST|INVAL)|ERR_\w+|SQLITE_\w+|undefined|NaN|TypeError|SyntaxError|fetch failed)\b|\[object |node:internal|^\s+at .+:\d+:\d+/m
const documented = new Set<number>(Object.values(exits))

let board: TestBoard
let bare: TestBoard
let signedIn: CommandLine
let projectless: CommandLine
let alone: CommandLine
let program: Command
let commands: readonly Command[]
let named: Named

beforeAll(async () => {
  board = await startSlotlessBoard()
  await board.client.auth.setup({ email: 'ada@example.org', password: 'correct horse' })
  named = await everything(board)
  bare = await startSlotlessBoard()
  await bare.client.auth.setup({ email: 'ada@example.org', password: 'correct horse' })
  signedIn = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: named.projectId })
  projectless = commandLine({ BOARD_URL: bare.url, BOARD_TOKEN: bare.token })
  alone = commandLine()
  program = await loadAll(createProgram(programs))
  commands = leaves(program).filter(command => !elsewhere.test(nameOf(command)))
})
afterAll(async () => {
  for (const cli of [signedIn, projectless, alone]) cli.close()
  await board.close()
  await bare.close()
})

/** Runs one command line per command, sequentially in one process. */
async function each(
  cli: CommandLine,
  chosen: readonly Command[],
  words: (command: Command) => string[],
): Promise<Result[]> {
  const ended = await inTurn(
    cli,
    chosen.map(command => [...words(command), '--no-input']),
  )
  return chosen.map((command, at) => ({ name: nameOf(command), ...ended[at]! }))
}

/** The command lines in the lines below the first. */
const ledTo = ({ stderr }: Result): string[] =>
  stderr
    .split('\n')
    .slice(1)
    .flatMap(line => [...line.matchAll(/(?:: | run | or )(board [a-z][^,;()]*)/g)].map(([, found]) => found!.trim()))

/** The faults in a command's error output. Empty if the command succeeded. */
async function faults(result: Result, thing?: RegExp): Promise<string[]> {
  const { name, code, stdout, stderr } = result
  const lines = stderr.split('\n').filter(line => line !== '')
  const first = lines[0] ?? ''
  const wrong = [
    !documented.has(code ?? -1) && `ends with ${code}`,
    raw.test(`${stdout}${stderr}`) && 'contains text that is not worded for users',
    code !== 0 && lines.length > 3 && `says ${lines.length} lines`,
    code !== 0 && !first.startsWith('board: ') && 'does not begin with its name',
    code !== 0 && thing && !thing.test(first) && `does not name ${thing.source}`,
    ...(await Promise.all(
      ledTo(result).map(async line => {
        const [words] = boardLines(line.replace(/<(\w+)>/g, '$1'))
        return parsed(words ?? []).then(
          () => false as const,
          () => !/--help\b/.test(line) && `leads to what does not run: ${line}`,
        )
      }),
    )),
  ].filter(found => typeof found === 'string')
  return wrong.map(what => `${name} ${what}\n${stderr}`)
}

const allFaults = async (results: readonly Result[], thing?: (name: string) => RegExp | undefined): Promise<string[]> =>
  (await Promise.all(results.map(result => faults(result, thing?.(result.name))))).flat()

describe('every command reports errors to users in three lines', () => {
  test('if no server runs', async () => {
    const results = await each(alone, commands, command => wordsOf(command, named))
    expect(await allFaults(results)).toEqual([])
  })

  test('if no project is selected and none exists', async () => {
    const makesOne = /^(projects create|import)$/
    const results = await each(
      projectless,
      commands.filter(command => !makesOne.test(nameOf(command))),
      command => wordsOf(command, named),
    )
    expect(await allFaults(results)).toEqual([])
  })

  test.each([
    ['an unknown number', '999999'],
    ['an unknown name', 'no-such-thing'],
  ])('if %s is named', async (_, wrong) => {
    const chosen = commands.filter(({ registeredArguments }) => registeredArguments.some(({ required }) => required))
    const wrongly: Named = {
      ...(Object.fromEntries(
        Object.entries(named).map(([field, value]) => [
          field,
          field.endsWith('Id') || field === 'backup' ? wrong : value,
        ]),
      ) as unknown as Named),
      projectId: wrong,
    }
    const results = await each(signedIn, chosen, command => wordsOf(command, wrongly))
    const namesOne = (name: string) =>
      wordsOf(
        chosen.find(each => nameOf(each) === name)!,
        wrongly,
      ).includes(wrong)
    expect(await allFaults(results, name => (namesOne(name) ? new RegExp(wrong) : undefined))).toEqual([])
  })

  test('for an unknown option', async () => {
    const all = leaves(program)
    const results = await each(signedIn, all, command => [...nameOf(command).split(' '), '--no-such-option'])
    expect(results.filter(({ code }) => code !== 2).map(({ name, code }) => [name, code])).toEqual([])
    expect(await allFaults(results, () => /--no-such-option/)).toEqual([])
  })

  test('for an unknown verb', async () => {
    const nouns = below(program).filter(command => command.commands.length > 0 && nameOf(command) !== 'help')
    const results = await each(signedIn, nouns, command => [...nameOf(command).split(' '), 'no-such-verb'])
    expect(results.filter(({ code }) => code !== 2).map(({ name, code }) => [name, code])).toEqual([])
    expect(await allFaults(results, () => /no-such-verb/)).toEqual([])
  })
})
