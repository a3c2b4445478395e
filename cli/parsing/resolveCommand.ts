import type { Command, Option } from 'commander'
import { usage } from '../failures/failure.ts'
import { lineOf } from './commandPath.ts'
import { load, loadAll } from './loadCommands.ts'
import { nearestWords } from '../output/text.ts'
import { nounsElsewhere, verbSynonyms } from './commandSynonyms.ts'

/** The command that the words of a command line name. */
export interface NamedCommand {
  /** The command that acts, or the noun at which the names ended. */
  command: Command
  /** The words, with the names of commands in full. */
  words: string[]
  /** The arguments after the names, as far as they can be distinguished from options. */
  given: string[]
}

/**
 * Reads the names at the start of a command line and expands abbreviations, which must be unambiguous. Loads the subcommands.
 * @throws Failure (usage) with the candidates if an abbreviation is ambiguous
 */
export async function followNames(program: Command, argv: readonly string[]): Promise<NamedCommand> {
  const words = [...argv]
  let command = program
  let at = 0
  for (; at < words.length; at++) {
    const word = words[at]!
    if (word === '--') break
    if (word.startsWith('-') && word !== '-') {
      const option = optionOf(command, word)
      if (option === undefined) break
      if (takesNext(option, word)) at++
      continue
    }
    if (command.commands.length === 0) break
    const next = findCommand(command, word)
    if (!next) break
    words[at] = command.commands.some(each => isCalled(each, word)) ? word : next.name()
    await load(next, words[at + 1])
    command = next
  }
  return { command, words, given: words.slice(at).filter(word => !word.startsWith('-')) }
}

/**
 * The subcommand with this name or alias, or the only one that starts with it.
 * @throws Failure (usage) if several start with it
 */
export function findCommand(command: Command, word: string): Command | undefined {
  const exact = command.commands.find(each => isCalled(each, word))
  if (exact || word === '') return exact
  const begun = command
    .createHelp()
    .visibleCommands(command)
    .filter(each => [each.name(), ...each.aliases()].some(name => name.startsWith(word)))
  if (begun.length > 1)
    throw usage(`several commands start with "${word}"`, {
      hint: `which one: ${begun.map(lineOf).join(', ')}`,
      see: `${lineOf(command)} --help`,
    })
  return begun[0]
}

const isCalled = (command: Command, word: string): boolean =>
  command.name() === word || command.aliases().includes(word)

/** Finds an option of the command or of a command above it. */
function optionOf(command: Command, word: string): Option | undefined {
  const name = word.startsWith('--') ? word.split('=')[0] : word.slice(0, 2)
  for (let at: Command | null = command; at; at = at.parent) {
    const option = at.options.find(({ long, short }) => long === name || short === name)
    if (option) return option
  }
  return undefined
}

const takesNext = (option: Option, word: string): boolean =>
  (option.required || option.optional) && (word.startsWith('--') ? !word.includes('=') : word.length === 2)

/** The first word that looks like an option but is not an option of the command. */
export function unknownOption({ command, words }: NamedCommand): string | undefined {
  for (let at = 0; at < words.length && words[at] !== '--'; at++) {
    const word = words[at]!
    if (!/^-[^\d]/.test(word)) continue
    const option = optionOf(command, word)
    if (!option) return word.split('=')[0]
    if (takesNext(option, word)) at++
  }
  return undefined
}

const maxSuggestions = 3
const questionWords = ['how', 'what', 'where', 'which', 'why', 'can']

/** Returns the verbs of a noun that are synonyms of the word, nearest first. */
function verbsLike(noun: Command, word: string): Command[] {
  const same = verbSynonyms(word)
  return [word, ...same].flatMap(name => noun.commands.filter(each => isCalled(each, name)))
}

/**
 * Suggests command lines for an unknown command word.
 * @param given the arguments after the word
 */
export async function suggestCommands(command: Command, word: string, given: readonly string[]): Promise<string[]> {
  if (!command.parent && questionWords.includes(word.toLowerCase())) return linesFound(command, given)
  const names = command.commands.flatMap(each => [each.name(), ...each.aliases()])
  const near = nearestWords(word, names).map(name => command.commands.find(each => isCalled(each, name))!)
  const meant = command.parent ? [...verbsLike(command, word), ...near] : await nounsFor(command, word, given, near)
  const lines = [...new Set(meant)].slice(0, maxSuggestions).map(lineOf)
  if (lines.length > 0) return lines
  return command.parent ? linesElsewhere(command, word) : linesFound(command, [word, ...given])
}

/** Returns the command lines that a search of the help finds. */
async function linesFound(program: Command, words: readonly string[]): Promise<string[]> {
  const { searchHelp } = await import('../help/search.ts')
  return (await searchHelp(program, words)).slice(0, maxSuggestions).map(({ line }) => line)
}

/** Commands that people search in another noun. */
const ofOtherNouns: Record<string, Record<string, string>> = {
  agents: { cancel: 'board cards cancel', run: 'board cards run' },
}

function linesElsewhere(noun: Command, word: string): string[] {
  const known = ofOtherNouns[noun.name()] ?? {}
  const meant = [word, ...verbSynonyms(word)]
  return meant.flatMap(each => known[each] ?? []).slice(0, 1)
}

/**
 * Suggests commands for an unknown word at the top level: a noun that has this name in other programs, a verb without its noun (`board
 * list`) or before it (`board list projects`), a misspelt noun.
 */
async function nounsFor(
  program: Command,
  word: string,
  [next = '']: readonly string[],
  near: readonly Command[],
): Promise<Command[]> {
  const nounOf = (name: string) =>
    program.commands.find(each => isCalled(each, name) || nounsElsewhere[each.name()]?.includes(name))
  const called = nounOf(word)
  if (called) return [called]
  await loadAll(program)
  const behind = nounOf(next)
  const behindIt = behind ? verbsLike(behind, word).slice(0, 1) : []
  if (behindIt.length > 0) return behindIt
  const cards = program.commands.find(each => each.name() === 'cards')!
  const ofCards = verbsLike(cards, word).slice(0, 1)
  const exact = program.commands.flatMap(noun => noun.commands.filter(each => isCalled(each, word)))
  if (ofCards[0]?.name() === word) return exact.length > maxSuggestions ? ofCards : [...ofCards, ...exact]
  if (ofCards.length + exact.length > 0) return [...ofCards, ...exact]
  if (near.length > 0) return [...near]
  const similar = program.commands.flatMap(noun => verbsLike(noun, word).slice(0, 1))
  const misspelt = nearestWords(
    word,
    cards.commands.map(each => each.name()),
  ).map(name => cards.commands.find(each => each.name() === name)!)
  return [...similar, ...misspelt]
}
