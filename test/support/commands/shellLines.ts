import type { Command } from 'commander'
import { loadAll } from '../../../cli/parsing/loadCommands.ts'
import { resolveCommand } from '../../../cli/parsing/resolveCommand.ts'
import { createProgram } from '../../../cli/program.ts'
import { settleJson } from '../../../cli/parsing/run.ts'
import { nameOf } from './commandWords.ts'
import { programs } from './programs.ts'

/** Everything below a command. */
export const below = (command: Command): Command[] => command.commands.flatMap(each => [each, ...below(each)])

/** The command lines of `board` in a line of shell, without `board`. */
export function boardLines(line: string): string[][] {
  const substituted = [...line.matchAll(/\$\(board ([^)]*)\)/g)].map(([, inner]) => wordsOf(inner!))
  const parts = line.replace(/\$\([^)]*\)/g, 'X').match(/(?:[^|&;"']|"[^"]*"|'[^']*')+/g) ?? []
  return [
    ...substituted,
    ...parts
      .map(part => wordsOf(part.replace(/\s[<>]\s*\S+/g, '')))
      .filter(([first]) => first === 'board')
      .map(words => words.slice(1)),
  ]
}

const wordsOf = (part: string): string[] =>
  [...part.trim().matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)].map(([word]) =>
    word.replace(/"([^"]*)"|'([^']*)'/g, (_, double?: string, single?: string) => double ?? single ?? ''),
  )

/**
 * Parses a command line like the program does.
 * @returns the name of the command that would run
 * @throws CommanderError if the command, an option or a value does not exist, or a part is missing
 */
export async function parsed(words: readonly string[]): Promise<string> {
  const program = await loadAll(createProgram(programs))
  let acting = ''
  for (const command of below(program)) {
    command.configureOutput({ writeOut: () => {} })
    if (command.commands.length === 0)
      command.action(() => {
        acting = nameOf(command)
      })
  }
  await program.parseAsync((await resolveCommand(program, settleJson(words))).words, { from: 'user' })
  return acting
}
