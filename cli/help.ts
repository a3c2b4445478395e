import type { Command, Help, Option } from 'commander'

/** Adds an example or several to a command's help. */
export const example = (command: Command, ...lines: string[]): Command =>
  command.addHelpText('after', `\nExamples:\n${lines.map(line => `  ${line}`).join('\n')}`)

/** Adds the help command and, below the list of commands, the topics. */
export function fillHelp(program: Command): void {
  program.command('help [command...]').summary('Show help for a command or a topic').helpGroup('Help')
    .description('Show help for a command, or for a topic: environment, exit-codes, formatting, scripting.')
    .action(async (words: string[]) => (await import('./commands/help.ts')).showHelp(program, words))
  program.addHelpText('after', `
Topics (board help <topic>): environment, exit-codes, formatting, scripting

Examples:
  board serve
  board projects create my-app --path .
  board cards add "Fix the login"
  board cards list`)
}

/** The help of one command: how to call it, what is below it, its own options, and the global ones in short. */
export function formatHelp(command: Command, helper: Help): string {
  const top = command.parent === null
  const commands = helper.visibleCommands(command)
  const terms = [...commands.map(termOf), ...helper.visibleArguments(command).map(each => helper.argumentTerm(each)), ...helper.visibleOptions(command).map(each => helper.optionTerm(each))]
  const width = Math.max(10, ...terms.map(term => term.length))
  const lines = (title: string, rows: [string, string][]) => rows.length === 0 ? [] : ['', `${title}:`, ...rows.map(([term, text]) => helper.formatItem(term, width, text, helper))]
  const groups = [...new Set(commands.map(each => each.helpGroup()))]
  const optionRows = (options: Option[]): [string, string][] => options.map(each => [helper.optionTerm(each), helper.optionDescription(each)])
  return [
    `Usage: board ${[...pathOf(command), ...commands.length > 0 ? ['<command>'] : [], ...command.registeredArguments.map(each => argumentOf(each.name(), each.required, each.variadic)), '[options]'].join(' ')}`,
    ...(command.aliases().length > 0 ? [`Alias: ${command.aliases().join(', ')}`] : []),
    '', helper.boxWrap(helper.commandDescription(command), helper.helpWidth ?? 80),
    ...groups.flatMap(group => lines(group || 'Commands', commands.filter(each => each.helpGroup() === group).map(each => [termOf(each), helper.subcommandDescription(each)]))),
    ...lines('Arguments', helper.visibleArguments(command).map(each => [helper.argumentTerm(each), helper.argumentDescription(each)])),
    ...lines('Options', optionRows(helper.visibleOptions(command))),
    ...(top ? [] : ['', 'Global options, in full with board --help:', helper.boxWrap(helper.visibleGlobalOptions(command).map(each => each.short ?? each.long).join(' '), helper.helpWidth ?? 80).replace(/^/gm, '  ')]),
    '',
  ].join('\n')
}

const pathOf = (command: Command): string[] => command.parent ? [...pathOf(command.parent), command.name()] : []
const termOf = (command: Command): string => [command.name(), ...command.registeredArguments.map(each => argumentOf(each.name(), each.required, each.variadic))].join(' ')

function argumentOf(name: string, required: boolean, variadic: boolean): string {
  const text = variadic ? `${name}...` : name
  return required ? `<${text}>` : `[${text}]`
}
