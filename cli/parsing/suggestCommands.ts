import type { Command } from 'commander'
import { nearestWords } from '../output/text.ts'
import { hasName } from './resolveCommand.ts'
import { lineOf } from './commandPath.ts'
import { nounsElsewhere, verbSynonyms } from './commandSynonyms.ts'
import { loadAll } from './loadCommands.ts'

const maxSuggestions = 3
const questionWords = ['how', 'what', 'where', 'which', 'why', 'can']

/** The agent of a card is run and canceled by commands of cards. */
const agentVerbs: Record<string, string> = { cancel: 'board cards cancel', run: 'board cards run' }

/**
 * Suggests command lines for an unknown word after a command.
 * @param following the arguments after the word
 */
export async function suggestCommands(command: Command, word: string, following: readonly string[]): Promise<string[]> {
  if (command.parent) {
    const lines = linesOf([...findVerbs(command, word), ...findSimilar(command, word)])
    return lines.length > 0 || command.name() !== 'agents' ? lines : suggestAgentVerb(word)
  }
  if (questionWords.includes(word.toLowerCase())) return searchLines(command, following)
  const lines = linesOf(await suggestAtTop(command, word, following[0] ?? ''))
  return lines.length > 0 ? lines : searchLines(command, [word, ...following])
}

const linesOf = (commands: readonly Command[]): string[] => [...new Set(commands)].slice(0, maxSuggestions).map(lineOf)

/** Returns the commands of a noun whose name is the word or a synonym, those with the word itself first. */
const findVerbs = (noun: Command, word: string): Command[] =>
  [word, ...verbSynonyms(word)].flatMap(name => noun.commands.filter(each => hasName(each, name)))

/** Returns the subcommands whose names are similar to the word. */
function findSimilar({ commands }: Command, word: string): Command[] {
  const names = commands.flatMap(each => [each.name(), ...each.aliases()])
  return nearestWords(word, names).map(name => commands.find(each => hasName(each, name))!)
}

function suggestAgentVerb(word: string): string[] {
  const verb = [word, ...verbSynonyms(word)].find(name => name in agentVerbs)
  return verb === undefined ? [] : [agentVerbs[verb]!]
}

async function searchLines(program: Command, words: readonly string[]): Promise<string[]> {
  const { searchHelp } = await import('../help/search.ts')
  return (await searchHelp(program, words)).slice(0, maxSuggestions).map(({ line }) => line)
}

/**
 * Suggests commands for a word that is not a noun: a noun that has this name in other programs, the verb of the next word
 * (`board list projects`), verbs with this name, a misspelled noun, or verbs with a similar meaning or name.
 */
async function suggestAtTop(program: Command, word: string, next: string): Promise<Command[]> {
  const noun = findNoun(program, word)
  if (noun) return [noun]
  await loadAll(program)
  const nextNoun = findNoun(program, next)
  const [verbOfNext] = nextNoun ? findVerbs(nextNoun, word) : []
  if (verbOfNext) return [verbOfNext]

  const cards = program.commands.find(each => each.name() === 'cards')!
  const [verbOfCards] = findVerbs(cards, word)
  const sameVerbs = program.commands.flatMap(each => each.commands.filter(verb => hasName(verb, word)))
  // If many nouns have a verb, such as `list`, only the verb of cards is suggested.
  if (verbOfCards?.name() === word && sameVerbs.length > maxSuggestions) return [verbOfCards]
  if (verbOfCards || sameVerbs.length > 0) return [...(verbOfCards ? [verbOfCards] : []), ...sameVerbs]

  const similarNouns = findSimilar(program, word)
  if (similarNouns.length > 0) return similarNouns
  const synonyms = program.commands.flatMap(each => findVerbs(each, word).slice(0, 1))
  return [...synonyms, ...findSimilar(cards, word)]
}

const findNoun = (program: Command, word: string): Command | undefined =>
  program.commands.find(each => hasName(each, word) || nounsElsewhere[each.name()]?.includes(word))
