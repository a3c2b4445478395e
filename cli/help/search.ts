import type { Command } from 'commander'
import { lineOf, nameOf } from '../parsing/commandPath.ts'
import { synonymsOf } from '../parsing/commandSynonyms.ts'
import { loadAll } from '../parsing/loadCommands.ts'
import { descriptionOf, examplesOf } from './help.ts'
import { topics, type Topic } from './topics.ts'

/** A command or topic of the help. */
interface HelpEntry {
  /** `board cards merge`, or `board help scripting`. */
  line: string
  summary: string
  /** The searched texts, in the order of `fieldScores`. */
  fields: string[]
}

const maxResults = 5
const minShareOfBest = 0.25
/** The score of a word that is in the name, the summary, the description or the rest of an entry. */
const fieldScores = [8, 4, 2, 1]
const synonymScore = 4
const ignored = new Set(
  'a an and another are at board can do does for from get how i in into is it let me my of on one or our that the this to we what where which with you'.split(
    ' ',
  ),
)

/** Finds the commands and topics whose help contains most of the words, best first. Rare words count more. */
export async function searchHelp(
  program: Command,
  words: readonly string[],
): Promise<Pick<HelpEntry, 'line' | 'summary'>[]> {
  await loadAll(program)
  const commands = program.commands.filter(each => each.name() !== 'help')
  const entries = [...commands.flatMap(commandEntries), ...Object.entries(topics).flatMap(topicEntries)].map(
    ({ line, summary, fields }) => ({
      line,
      summary,
      score: 0,
      fields: fields.map(field => new Set(stemsOf(field))),
    }),
  )
  for (const word of words.flatMap(tokensOf).filter(each => !ignored.has(each))) {
    const [stem, ...synonyms] = [word, ...synonymsOf(word)].map(stemOf)
    const scores = entries.map(({ fields: [name, ...texts] }) =>
      Math.max(
        ...[name!, ...texts].map((field, at) => (field.has(stem!) ? fieldScores[at]! : 0)),
        synonyms.some(each => name!.has(each)) ? synonymScore : 0,
      ),
    )
    const rarity = Math.log(1 + entries.length / scores.filter(score => score > 0).length)
    for (const [at, score] of scores.entries()) if (score > 0) entries[at]!.score += score * rarity
  }
  const best = Math.max(...entries.map(({ score }) => score))
  const found = entries.filter(({ score }) => score > best * minShareOfBest).sort((a, b) => b.score - a.score)
  return found.filter(({ line }, at) => found.findIndex(each => each.line === line) === at).slice(0, maxResults)
}

/** The entries of a topic. Each recipe is a separate entry, so that its heading is found and shown. */
function topicEntries([name, { summary, text }]: [string, Topic]): HelpEntry[] {
  const entry = (heading: string, content: string) => ({
    line: `board help ${name}`,
    summary: heading,
    fields: [name, heading, content],
  })
  if (name !== 'recipes') return [entry(summary, text())]
  return text()
    .split(/\n\n/)
    .map(recipe => entry(recipe.slice(0, recipe.indexOf(':\n')).replace(/ \(see: .*\)$/, ''), recipe))
}

/** The entries of a command and of the commands below it. */
function commandEntries(command: Command): HelpEntry[] {
  const { registeredArguments, options, commands } = command
  const rest = [
    ...registeredArguments.flatMap(({ description, argChoices = [] }) => [description, ...argChoices]),
    ...options.flatMap(({ flags, description, argChoices = [] }) => [flags, description, ...argChoices]),
    ...examplesOf(command),
  ]
  const names = [command.name(), ...command.aliases()].join(' ')
  return [
    {
      line: lineOf(command),
      summary: command.summary(),
      fields: [names, command.summary(), `${nameOf(command)} ${descriptionOf(command)}`, rest.join(' ')],
    },
    ...commands.flatMap(commandEntries),
  ]
}

const tokensOf = (text: string): string[] => text.toLowerCase().match(/[a-z0-9]+/g) ?? []
const stemsOf = (text: string): string[] => tokensOf(text).map(stemOf)
/** Cuts the ending of a word, so that "merge", "merged" and "merging" are equal. */
const stemOf = (word: string): string => word.replace(/(?<=...)(ing|ed|es|e|s|ly)$/, '')
