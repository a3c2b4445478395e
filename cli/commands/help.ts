import type { Command } from 'commander'
import { findCommand, suggestCommands } from '../parsing/commandNames.ts'
import { usage, type Failure } from '../failures/failure.ts'
import { globalsOf } from '../parsing/globals.ts'
import { createOutput } from '../output/createOutput.ts'
import { nearestWords } from '../output/text.ts'
import { topics } from '../help/topics.ts'

/** Prints the help of a command or topic. `load` loads the subcommands of a noun. */
export async function showHelp(
  program: Command,
  words: readonly string[],
  load: (command: Command) => Promise<void>,
): Promise<void> {
  const topic = words.length === 1 && Object.hasOwn(topics, words[0]!) ? topics[words[0]!] : undefined
  if (topic) return createOutput(globalsOf(program)).out.text(topic.text())
  let command = program
  for (const word of words) {
    const next = findCommand(command, word)
    if (!next) throw await unknownCommand(command, word)
    await load(next)
    command = next
  }
  command.outputHelp()
}

async function unknownCommand(command: Command, word: string): Promise<Failure> {
  const top = command.parent === null
  const meant = [...nearestWords(word, top ? Object.keys(topics) : []), ...(await suggestCommands(command, word, []))]
  return usage(`there is no command${top ? ' or topic' : ''} "${word}"`, {
    hint: meant.length > 0 ? `did you mean: ${meant.join(', ')}` : undefined,
    see: 'board help',
  })
}
