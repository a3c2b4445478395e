import type { Command, Option } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { lineOf } from '../parsing/commandPath.ts'
import { descriptionOf, examplesOf } from './help.ts'
import { loadAll } from '../parsing/loadCommands.ts'
import { createProgram } from '../program.ts'
import type { Programs } from '../programs.ts'
import { topics } from './topics.ts'

/**
 * Returns the man pages by file name: one for the program and one per command. They come from the same command tree as the help.
 */
export async function manPages(programs: Programs): Promise<Record<string, string>> {
  const program = await loadAll(createProgram(programs))
  const commands = program.commands.filter(command => command.name() !== 'help')
  return Object.fromEntries([
    ['board.1', programPage(program, commands)],
    ...commands.map(command => [`board-${command.name()}.1`, commandPage(command)]),
  ])
}

function programPage(program: Command, commands: readonly Command[]): string {
  const groups = [...new Set(commands.map(each => each.helpGroup()))]
  return page('board', program.description(), [
    ...section('SYNOPSIS', '.B board', '.I command', '[options]'),
    ...section(
      'DESCRIPTION',
      text(program.description()),
      '.PP',
      text('You can abbreviate command names if the abbreviation is unambiguous.'),
    ),
    ...groups.flatMap(group => [
      ...section(group.toUpperCase()),
      ...commands
        .filter(each => each.helpGroup() === group)
        .flatMap(each => ['.TP', `.BR ${word(`board-${each.name()}`)} (1)`, text(each.summary())]),
    ]),
    ...optionsSection('OPTIONS', program.options),
    ...Object.entries(topics).flatMap(([name, topic]) => [
      ...section(name.toUpperCase().replace('-', ' ')),
      '.nf',
      ...topic.text().trimEnd().split('\n').map(text),
      '.fi',
    ]),
    ...examplesSection(program),
  ])
}

function commandPage(command: Command): string {
  const leaves = leavesOf(command)
  return page(`board-${command.name()}`, command.summary(), [
    ...section('SYNOPSIS'),
    ...leaves.flatMap(leaf => [`.B ${word(lineOf(leaf))}`, text(`${argumentsOf(leaf)} [options]`.trim()), '.br']),
    ...section('DESCRIPTION', text(descriptionOf(command))),
    ...leaves.flatMap(leaf => (leaf === command ? optionLines(leaf) : leafLines(leaf))),
    ...section('SEE ALSO', '.BR board (1)'),
  ])
}

const leafLines = (leaf: Command): string[] => [
  `.SS ${quoteRoff(`${lineOf(leaf)} ${argumentsOf(leaf)}`.trim())}`,
  text(descriptionOf(leaf)),
  ...optionLines(leaf),
]

const optionLines = (leaf: Command): string[] => [
  ...leaf.registeredArguments
    .filter(each => each.description)
    .flatMap(each => ['.TP', `.I ${word(each.name())}`, text(each.description)]),
  ...leaf.options.flatMap(optionItem),
  ...exampleLines(leaf),
]

export const leavesOf = (command: Command): Command[] =>
  command.commands.length > 0 ? command.commands.flatMap(leavesOf) : [command]

export const argumentsOf = (command: Command): string =>
  command.registeredArguments
    .map(each => {
      const name = each.variadic ? `${each.name()}...` : each.name()
      return each.required ? `<${name}>` : `[${name}]`
    })
    .join(' ')

const optionsSection = (title: string, options: readonly Option[]): string[] => [
  ...section(title),
  ...options.flatMap(optionItem),
]
const optionItem = (option: Option): string[] => ['.TP', `.B ${word(option.flags)}`, text(option.description)]

function exampleLines(command: Command): string[] {
  const lines = examplesOf(command)
  return lines.length === 0 ? [] : ['.PP', 'Examples:', '.PP', '.nf', ...lines.map(line => text(`    ${line}`)), '.fi']
}
const examplesSection = (command: Command): string[] => [
  ...section('EXAMPLES', '.nf', ...examplesOf(command).map(text), '.fi'),
]

const page = (name: string, summary: string, lines: readonly string[]): string =>
  [
    `.TH ${quoteRoff(name.toUpperCase())} 1 "" ${quoteRoff(`board ${manifest.version}`)} "board"`,
    '.SH NAME',
    `${word(name)} \\- ${escapeRoff(summary.replace(/\.$/, ''))}`,
    ...lines,
    '',
  ].join('\n')

const section = (title: string, ...lines: readonly string[]): string[] => [`.SH ${quoteRoff(title)}`, ...lines]

/** Escapes text for roff: backslashes, and control characters at the start of a line. */
const escapeRoff = (plain: string): string =>
  plain.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll("'", '\\(aq')
const text = (plain: string): string => {
  const line = escapeRoff(plain)
  return /^[.']/.test(line) ? `\\&${line}` : line
}
/** Quotes a text as one argument of a roff request. */
const quoteRoff = (plain: string): string => `"${escapeRoff(plain).replaceAll('"', '\\(dq')}"`
const word = (plain: string): string => (/[ "]/.test(plain) ? quoteRoff(plain) : escapeRoff(plain))
