import type { Command, Help, Option } from 'commander'
import type { Contract } from '../../src/contract/index.ts'

const examples = new WeakMap<Command, readonly string[]>()

/** Adds one or more examples to a command's help. The help of its noun shows the first one. */
export function example(command: Command, ...lines: string[]): Command {
  examples.set(command, lines)
  return command.addHelpText('after', `\n${drawExamples(lines)}`)
}

/** A command's examples. */
export const examplesOf = (command: Command): readonly string[] => examples.get(command) ?? []

/** A command's description, or its summary as a sentence if it has no description. */
export const descriptionOf = (command: Command): string => command.description() || `${command.summary()}.`

/** The name of a route, such as `cards.list`. */
export type RouteName = {
  [Noun in keyof Contract]: `${Noun}.${keyof Contract[Noun] & string}`
}[keyof Contract]

interface Printed {
  route: RouteName | null
  more: readonly string[]
}
const printed = new WeakMap<Command, Printed>()

/** Names the fields that a command prints with `--json`: those of a route's rows, and `more`, separated by spaces. */
export function prints(command: Command, route: RouteName | null, more = ''): Command {
  printed.set(command, { route, more: more.split(' ').filter(Boolean) })
  return command
}

/** The fields that a command declared with `prints`. Undefined if it prints no record. */
export const printedBy = (command: Command): Printed | undefined => printed.get(command)

/** Groups the verbs of a noun: heading -> names of verbs. */
export function groupVerbs(noun: Command, heads: Record<string, string>): void {
  for (const [head, verbs] of Object.entries(heads))
    for (const verb of verbs.split(' ')) noun.commands.find(each => each.name() === verb)!.helpGroup(head)
}

/** Formats the help of one command: its usage, its subcommands, its options, and the global options in brief. */
export function formatHelp(command: Command, helper: Help): string {
  const top = command.parent === null
  const commands = helper.visibleCommands(command)
  const terms = [
    ...commands.map(termOf),
    ...helper.visibleArguments(command).map(each => helper.argumentTerm(each)),
    ...helper.visibleOptions(command).map(each => helper.optionTerm(each)),
  ]
  const width = Math.max(10, ...terms.map(term => term.length))
  const lines = (title: string, rows: [string, string][]) =>
    rows.length === 0
      ? []
      : ['', `${title}:`, ...rows.map(([term, text]) => helper.formatItem(term, width, text, helper))]
  const groups = [...new Set(commands.map(each => each.helpGroup()))]
  const optionRows = (options: Option[]): [string, string][] =>
    options.map(each => [helper.optionTerm(each), helper.optionDescription(each)])
  return [
    `Usage: board ${[...pathOf(command), ...(commands.length > 0 ? ['<command>'] : []), ...command.registeredArguments.map(each => argumentOf(each.name(), each.required, each.variadic)), '[options]'].join(' ')}`,
    ...(command.aliases().length > 0 ? [`Alias: ${command.aliases().join(', ')}`] : []),
    '',
    helper.boxWrap(descriptionOf(command), helper.helpWidth ?? 80),
    ...groups.flatMap(group =>
      lines(
        group || 'Commands',
        commands
          .filter(each => each.helpGroup() === group)
          .map(each => [termOf(each), helper.subcommandDescription(each)]),
      ),
    ),
    ...lines(
      'Arguments',
      helper.visibleArguments(command).map(each => [helper.argumentTerm(each), helper.argumentDescription(each)]),
    ),
    ...lines('Options', optionRows(helper.visibleOptions(command))),
    ...(top ? [] : globalOptionLines(command, helper)),
    ...(top || commands.length === 0 ? [] : exampleLines(commands, groups)),
    '',
  ].join('\n')
}

function globalOptionLines(command: Command, helper: Help): string[] {
  const names = helper
    .visibleGlobalOptions(command)
    .filter(each => each.long !== '--version' && !command.options.some(own => own.long === each.long))
    .map(each => [each.short, each.long].filter(Boolean).join('/'))
  const text = helper.boxWrap(names.join(' '), helper.helpWidth ?? 80)
  return ['', 'Global options, in full with board --help:', text.replace(/^/gm, '  ')]
}

/** One example of the first commands of each group. */
function exampleLines(commands: readonly Command[], groups: readonly string[]): string[] {
  const perGroup = groups.length > 1 ? 2 : 4
  const shown = groups.flatMap(group => commands.filter(each => each.helpGroup() === group).slice(0, perGroup))
  return ['', drawExamples(shown.flatMap(firstExample))]
}

/** Formats terms and their meanings in 80 columns, as the help formats options. */
export function drawRows(command: Command, rows: Readonly<Record<string, string>>): string {
  const helper = command.createHelp()
  helper.prepareContext({ helpWidth: 80 })
  const width = Math.max(...Object.keys(rows).map(term => term.length))
  return Object.entries(rows)
    .map(([term, meaning]) => helper.formatItem(term, width, meaning, helper))
    .join('\n')
}

const drawExamples = (lines: readonly string[]): string => `Examples:\n${lines.map(line => `  ${line}`).join('\n')}`

/** A command's first example, or that of its first subcommand. */
function firstExample(command: Command): string[] {
  const first = examples.get(command)?.[0] ?? command.commands.flatMap(firstExample)[0]
  return first === undefined ? [] : [first]
}

const pathOf = (command: Command): string[] => (command.parent ? [...pathOf(command.parent), command.name()] : [])
const termOf = (command: Command): string =>
  [
    command.name(),
    ...command.registeredArguments.map(each => argumentOf(each.name(), each.required, each.variadic)),
  ].join(' ')

function argumentOf(name: string, required: boolean, variadic: boolean): string {
  const text = variadic ? `${name}...` : name
  return required ? `<${text}>` : `[${text}]`
}
