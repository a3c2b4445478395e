import type { Command } from 'commander'
import { findCommand } from '../parsing/resolveCommand.ts'
import { suggestCommands } from '../parsing/suggestCommands.ts'
import { usage } from '../failures/failure.ts'
import { globalsOf } from '../parsing/globals.ts'
import { createOutput } from '../output/createOutput.ts'
import type { Column } from '../output/output.ts'
import { nearestWords } from '../output/text.ts'
import { drawRows } from '../help/help.ts'
import { searchHelp } from '../help/search.ts'
import { topics } from '../help/topics.ts'

const fields: readonly Column<{ command: string; summary: string }>[] = [
  { name: 'command', value: entry => entry.command },
  { name: 'summary', value: entry => entry.summary },
]

/**
 * Prints the help of a command or topic, or the commands whose help contains the words. `load` loads the subcommands of a noun.
 * @throws Failure (usage) if JSON of a command or topic is requested, or if nothing is found
 */
export async function showHelp(
  program: Command,
  words: readonly string[],
  load: (command: Command) => Promise<void>,
): Promise<void> {
  const { out } = createOutput(globalsOf(program))
  const requireText = () => {
    if (out.json)
      throw usage('the help of a command or topic is available only as text', {
        hint: 'only a search prints JSON, for example: board help "squash merge" --json',
      })
  }
  const topic = words.length === 1 && Object.hasOwn(topics, words[0]!) ? topics[words[0]!] : undefined
  if (topic) {
    requireText()
    return out.text(topic.text())
  }
  let command = program
  for (const [at, word] of words.entries()) {
    const next = findCommand(command, word)
    if (!next) return showFound(program, words, command, at)
    await load(next)
    command = next
  }
  requireText()
  command.outputHelp()
}

/**
 * Prints the commands that a search of the words finds, unless only the last word is wrong and is similar to a command's name.
 * @throws Failure (usage) if the search finds nothing
 */
async function showFound(program: Command, words: readonly string[], command: Command, at: number): Promise<void> {
  const isTop = command === program
  const similar = at + 1 === words.length ? await suggestCommands(command, words[at]!, []) : []
  const found = isTop || similar.length === 0 ? await searchHelp(program, words) : []
  if (found.length > 0) {
    const { out } = createOutput(globalsOf(program))
    if (out.json)
      return out.list(
        found.map(({ line, summary }) => ({ command: line, summary })),
        fields,
      )
    const rows = Object.fromEntries(found.map(({ line, summary }) => [line, summary]))
    const details = `board help ${found[0]!.line.replace(/^board (help )?/, '')}`
    return out.text(`Commands for "${words.join(' ')}":\n${drawRows(program, rows)}\n\nDetails: ${details}\n`)
  }
  const similarTopics = isTop ? nearestWords(words[at]!, Object.keys(topics)) : []
  const suggestions = [...similarTopics, ...similar]
  throw usage(`there is no command${isTop ? ' or topic' : ''} "${words[at]!}"`, {
    hint: suggestions.length > 0 ? `did you mean: ${suggestions.join(', ')}` : undefined,
    see: 'board help',
  })
}
