import type { Command } from 'commander'

/** Adds an example or several to a command's help. */
export const example = (command: Command, ...lines: string[]): Command =>
  command.addHelpText('after', `\nExamples:\n${lines.map(line => `  ${line}`).join('\n')}`)

/** Adds the help command with its topics. */
export function fillHelp(program: Command): void {
  program.command('help [topic...]').summary('Show help for a command or a topic').helpGroup('Automate:')
    .description('Show help for a command, or for a topic: environment, exit-codes, formatting, scripting.')
    .action(async (words: string[]) => (await import('./commands/help.ts')).showHelp(program, words))
}
