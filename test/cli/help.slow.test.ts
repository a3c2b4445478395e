import type { Command } from 'commander'
import { beforeAll, describe, expect, test } from 'vitest'
import { loadAll } from '../../cli/parsing/loadCommands.ts'
import { createProgram } from '../../cli/program.ts'
import { nameOf } from '../support/commands/commandWords.ts'
import { below, boardLines, parsed } from '../support/commands/shellLines.ts'
import { programs } from '../support/commands/programs.ts'

let program: Command
let leaves: Command[]
let nouns: Command[]

beforeAll(async () => {
  program = await loadAll(createProgram(programs))
  const all = below(program)
  leaves = all.filter(({ commands }) => commands.length === 0)
  nouns = all.filter(({ commands }) => commands.length > 0)
})

function helpOf(command: Command): string {
  let help = ''
  command.configureOutput({
    writeOut: text => {
      help += text
    },
  })
  command.outputHelp()
  return help
}

const examplesOf = (command: Command): string[] =>
  /^Examples:\n((?: {2}\S.*\n)+)/m
    .exec(helpOf(command))?.[1]
    ?.trimEnd()
    .split('\n')
    .map(line => line.trim()) ?? []

describe('the help', () => {
  test('has no description that only repeats the summary', () => {
    expect([...nouns, ...leaves].filter(each => each.description() === `${each.summary()}.`).map(nameOf)).toEqual([])
  })

  test('of every command shows its usage, its effect, and examples', () => {
    expect(leaves.length).toBeGreaterThan(140)
    for (const command of leaves.filter(each => nameOf(each) !== 'help')) {
      const help = helpOf(command)
      expect(help, nameOf(command)).toMatch(new RegExp(`^Usage: board ${nameOf(command)}.*\\n(Alias.*\\n)?\\n\\S.+`))
      expect(examplesOf(command).length, nameOf(command)).toBeGreaterThan(0)
      for (const line of help.split('\n')) expect(line.length, `${nameOf(command)}: ${line}`).toBeLessThan(220)
    }
  })

  test('of every noun lists its commands under headings, or all of them under one, and shows some of their examples', () => {
    for (const noun of nouns) {
      const help = helpOf(noun)
      for (const command of noun.commands)
        expect(help, nameOf(noun)).toMatch(new RegExp(`^ {2}${command.name()}[ \\n]`, 'm'))
      const heads = new Set(noun.commands.map(each => each.helpGroup()))
      expect(heads.has('') ? heads.size : 1, `${nameOf(noun)} has commands under no head`).toBe(1)
      expect(examplesOf(noun).length, nameOf(noun)).toBeGreaterThan(Math.min(noun.commands.length, 2) - 1)
    }
  })

  test('of the program lists every noun under a heading', () => {
    const help = helpOf(program)
    for (const command of program.commands) expect(help).toMatch(new RegExp(`^ {2}${command.name()}[ \\n]`, 'm'))
    expect(
      help.match(/^(Work on the board|Set up projects|Automate|Sign in and configure|Run a server|Help):$/gm),
    ).toHaveLength(6)
  })

  test('has valid examples: every command, option and value in them exists', async () => {
    const wrong: string[] = []
    for (const command of leaves.filter(each => nameOf(each) !== 'help')) {
      const acting: string[] = []
      for (const example of examplesOf(command)) {
        for (const words of boardLines(example))
          acting.push(await parsed(words).catch((error: Error) => `${example}: ${error.message}`))
      }
      wrong.push(...acting.filter(name => name === '' || name.includes(': ')))
      if (!acting.includes(nameOf(command))) wrong.push(`${nameOf(command)} is in none of its examples`)
    }
    expect(wrong).toEqual([])
  })
})
