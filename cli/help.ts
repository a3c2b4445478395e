import type { Command } from 'commander'

/** Adds an example or several to a command's help. */
export const example = (command: Command, ...lines: string[]): Command =>
  command.addHelpText('after', `\nExamples:\n${lines.map(line => `  ${line}`).join('\n')}`)

/** Adds the help command and, below the list of commands, the topics. */
export function fillHelp(program: Command): void {
  program.command('help [command...]').summary('Show help for a command or a topic').helpGroup('Help:')
    .description('Show help for a command, or for a topic: environment, exit-codes, formatting, scripting.')
    .action(async (words: string[]) => (await import('./commands/help.ts')).showHelp(program, words))
  program.addHelpText('after', `
Topics (board help <topic>): environment, exit-codes, formatting, scripting

Examples:
  board serve
  board projects create "My project" --path .
  board cards add "Fix the login" --column "In Progress"
  board cards list`)
}
