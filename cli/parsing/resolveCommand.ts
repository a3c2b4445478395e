import type { Command, Option } from 'commander'
import { usage } from '../failures/failure.ts'
import { lineOf } from './commandPath.ts'
import { load } from './loadCommands.ts'

/** The command that the words of a command line name. */
export interface NamedCommand {
  /** The command that acts, or the noun at which the names ended. */
  command: Command
  /** The words, with abbreviated names of commands in full. */
  words: string[]
  /** The words after the names, without options. The values of options are among them, because an unknown option can have a value. */
  given: string[]
}

/**
 * Finds the command of a command line, and expands abbreviated names. Loads the subcommands of the nouns that it passes.
 * @throws Failure (usage) with the candidates if an abbreviation is ambiguous
 */
export async function resolveCommand(program: Command, argv: readonly string[]): Promise<NamedCommand> {
  const words = [...argv]
  let command = program
  let at = 0
  while (at < words.length && words[at] !== '--') {
    const word = words[at]!
    if (isOption(word)) {
      const option = findOption(command, word)
      if (!option) break
      at += takesNextWord(option, word) ? 2 : 1
      continue
    }
    const next = findCommand(command, word)
    if (!next) break
    if (!hasName(next, word)) words[at] = next.name()
    await load(next, words[at + 1])
    command = next
    at++
  }
  return { command, words, given: words.slice(at).filter(word => !word.startsWith('-')) }
}

/**
 * Finds the subcommand with this name or alias, or the only one whose name starts with the word.
 * @throws Failure (usage) if several start with it
 */
export function findCommand(command: Command, word: string): Command | undefined {
  const exact = command.commands.find(each => hasName(each, word))
  if (exact || word === '') return exact
  const candidates = command
    .createHelp()
    .visibleCommands(command)
    .filter(each => [each.name(), ...each.aliases()].some(name => name.startsWith(word)))
  if (candidates.length > 1)
    throw usage(`several commands start with "${word}"`, {
      hint: `which one: ${candidates.map(lineOf).join(', ')}`,
      see: `${lineOf(command)} --help`,
    })
  return candidates[0]
}

export const hasName = (command: Command, word: string): boolean =>
  command.name() === word || command.aliases().includes(word)

/** Returns the first word that looks like an option but is not an option of the command. */
export function findUnknownOption({ command, words }: NamedCommand): string | undefined {
  let at = 0
  while (at < words.length && words[at] !== '--') {
    const word = words[at]!
    const option = findOption(command, word)
    if (!option && isOption(word) && !isNegativeNumber(word)) return word.split('=')[0]
    at += option && takesNextWord(option, word) ? 2 : 1
  }
  return undefined
}

/** Returns whether a word is an option. A single dash stands for stdin. */
const isOption = (word: string): boolean => word.startsWith('-') && word !== '-'

const isNegativeNumber = (word: string): boolean => /^-\d/.test(word)

/** Finds an option of the command or of a command above it. */
function findOption(command: Command, word: string): Option | undefined {
  const name = word.startsWith('--') ? word.split('=')[0] : word.slice(0, 2)
  for (let owner: Command | null = command; owner; owner = owner.parent) {
    const option = owner.options.find(({ long, short }) => long === name || short === name)
    if (option) return option
  }
  return undefined
}

/** Returns whether the option's value is the next word, and not in the same word as in `--column=done` and `-cdone`. */
function takesNextWord({ required, optional }: Option, word: string): boolean {
  const hasOwnValue = word.startsWith('--') ? word.includes('=') : word.length > 2
  return (required || optional) && !hasOwnValue
}
