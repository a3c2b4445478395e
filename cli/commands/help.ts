import type { Command } from 'commander'
import { load } from '../program.ts'
import { Failure } from '../exit.ts'

/** Prints the help of the command or topic that the words name. */
export async function showHelp(program: Command, words: readonly string[]): Promise<void> {
  let command = program
  for (const word of words) {
    const next = command.commands.find(each => each.name() === word || each.aliases().includes(word))
    if (!next) throw new Failure('usage', `there is no command or topic "${words.join(' ')}"`, { see: 'board help' })
    await load(next)
    command = next
  }
  command.outputHelp()
}
