import type { Command, Option } from 'commander'
import { descriptionOf, examplesOf } from '../../cli/help/help.ts'
import { argumentsOf, leavesOf } from '../../cli/help/manPages.ts'
import { topics } from '../../cli/help/topics.ts'
import { lineOf } from '../../cli/parsing/commandPath.ts'
import { groups } from '../../cli/tree.ts'
import { cell, code, table } from './markdown.ts'

/** Renders docs/commands.md: every command, and the topics of `board help`. Each of them comes from the help of the command line. */
export function commandReference(program: Command): string {
  const nouns = (group: string) => program.commands.filter(each => each.helpGroup() === group)
  return [
    '# Commands',
    'Every command of `board`, as `board help <command>` shows it. `board help cards list` shows the help of one command in the terminal.',
    ['```sh', ...examplesOf(program), '```'].join('\n'),
    listOf(groups.map(group => `${group}: ${nouns(group).map(linkTo).join(', ')}`)),
    '## Global options',
    'Every command accepts these options.',
    optionTable(program.options),
    ...groups.flatMap(group => [`## ${group}`, ...nouns(group).flatMap(nounSections)]),
    ...Object.entries(topics).flatMap(([name, { summary, text }]) => [
      `## ${name[0]!.toUpperCase()}${name.slice(1).replace('-', ' ')}`,
      `${summary}. In the terminal: \`board help ${name}\`.`,
      `\`\`\`\n${text().trim()}\n\`\`\``,
    ]),
    '',
  ].join('\n\n')
}

const linkTo = (noun: Command): string => `[${noun.name()}](#board-${noun.name()})`

const listOf = (lines: readonly string[]): string => lines.map(line => `- ${line}`).join('\n')

function nounSections(noun: Command): string[] {
  if (noun.commands.length === 0) return leafSections('###', noun)
  const alias = noun.alias() ? ` Alias: \`board ${noun.alias()}\`.` : ''
  return [
    `### ${lineOf(noun)}`,
    `${descriptionOf(noun)}${alias}`,
    ...leavesOf(noun).flatMap(leaf => leafSections('####', leaf)),
  ]
}

function leafSections(level: string, leaf: Command): string[] {
  const described = leaf.registeredArguments.filter(each => each.description)
  const options = leaf.options.filter(each => !each.hidden)
  return [
    `${level} ${lineOf(leaf)}`,
    descriptionOf(leaf),
    ['```', `${lineOf(leaf)} ${argumentsOf(leaf)}`.trim() + ' [options]', '```'].join('\n'),
    ...(examplesOf(leaf).length === 0 ? [] : [['```sh', ...examplesOf(leaf), '```'].join('\n')]),
    ...(described.length === 0
      ? []
      : [
          table(
            ['Argument', 'Meaning'],
            described.map(each => [code(each.name()), cell(each.description)]),
          ),
        ]),
    ...(options.length === 0 ? [] : [optionTable(options)]),
  ]
}

const optionTable = (options: readonly Option[]): string =>
  table(
    ['Option', 'Meaning'],
    options.map(option => [code(option.flags), cell(meaningOf(option))]),
  )

function meaningOf({ description, argChoices, defaultValue, defaultValueDescription, envVar }: Option): string {
  const notes = [
    ...(argChoices ? [argChoices.join(', ')] : []),
    ...(defaultValue === undefined || defaultValue === false
      ? []
      : [`default: ${defaultValueDescription ?? String(defaultValue)}`]),
    ...(envVar ? [`or ${envVar}`] : []),
  ]
  return notes.length === 0 ? description : `${description} (${notes.join('; ')})`
}
