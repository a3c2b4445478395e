import type { Command } from 'commander'
import { findCommand } from '../parsing/resolveCommand.ts'
import { suggestCommands } from '../parsing/suggestCommands.ts'
import { usage } from '../failures/failure.ts'
import { globalsOf } from '../parsing/globals.ts'
import { createOutput } from '../output/createOutput.ts'
import { nearestWords } from '../output/text.ts'
import { drawRows } from '../help/help.ts'
import { searchHelp } from '../help/search.ts'
import { topics } from '../help/topics.ts'

/** Prints the help of a command or topic, or the commands whose help contains the words. `load` loads the subcommands of a noun. */
export async function showHelp(
  program: Command,
  words: readonly string[],
  load: (command: Command) => Promise<void>,
): Promise<void> {
  const topic = words.length === 1 && Object.hasOwn(topics, words[0]!) ? topics[words[0]!] : undefined
  if (topic) return createOutput(globalsOf(program)).out.text(topic.text())
  let command = program
  for (const [at, word] of words.entries()) {
    const next = findCommand(command, word)
    if (!next) return showFound(program, words, command, at)
    await load(next)
    command = next
  }
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
    const rows = Object.fromEntries(found.map(({ line, summary }) => [line, summary]))
    const details = `board help ${found[0]!.line.replace(/^board (help )?/, '')}`
    return createOutput(globalsOf(program)).out.text(
      `Commands for "${words.join(' ')}":\n${drawRows(program, rows)}\n\nDetails: ${details}\n`,
    )
  }
  const meant = [...nearestWords(words[at]!, isTop ? Object.keys(topics) : []), ...similar]
  throw usage(`there is no command${isTop ? ' or topic' : ''} "${words[at]!}"`, {
    hint: meant.length > 0 ? `did you mean: ${meant.join(', ')}` : undefined,
    see: 'board help',
  })
}
