import { toJsonSchema } from '@valibot/to-json-schema'
import type { Command, Option } from 'commander'
import { serverSecrets } from '../../cli/commands/serve.ts'
import { topics } from '../../cli/help/topics.ts'
import { BoardFile } from '../../src/contract/projects/worktree.ts'
import type { JsonSchema } from '@valibot/to-json-schema'
import { cell, code, table } from './markdown.ts'

/** The schema of `board.json`, for editors. */
export const boardFileSchema = () => ({
  ...toJsonSchema(BoardFile, { target: 'draft-2020-12', errorMode: 'ignore', typeMode: 'input' }),
  title: 'board.json: how the worktrees of a project are prepared',
})

/** Renders docs/configuration.md: the settings of the server, of `board.json` and of the command line. */
export function configurationReference(program: Command): string {
  const serve = program.commands.find(each => each.name() === 'serve')!
  const { $schema: _, ...fields } = boardFileSchema().properties as Record<string, JsonSchema>
  return [
    '# Configuration',
    'The settings of the server, of a project in `board.json`, and of the command line. An option of the command line overrides the environment variable in its row:',
    '```sh\nboard serve --port 8080\nBOARD_PORT=8080 board serve\n```',
    '## Server',
    table(
      ['Option', 'Variable', 'Meaning'],
      serve.options.map(option => [
        code(option.flags),
        option.envVar ? code(option.envVar) : '',
        cell(meaningOf(option)),
      ]),
    ),
    'Set secrets only in the environment, because other accounts of the machine can read the options of a process:',
    table(
      ['Variable', 'Meaning'],
      Object.entries(serverSecrets).map(([name, meaning]) => [code(name), cell(meaning)]),
    ),
    '## board.json',
    'A `board.json` in the folder of a project prepares the worktrees of its cards ([worktrees](worktrees.md)). Editors check it with [board.schema.json](board.schema.json).',
    table(
      ['Field', 'Meaning'],
      Object.entries(fields).map(([name, { description = '', default: value }]) => [
        code(name),
        cell(
          value === undefined || value === '' || Array.isArray(value)
            ? description
            : `${description} (default: ${String(value)})`,
        ),
      ]),
    ),
    '## Command line',
    `\`\`\`\n${topics.environment!.text().trim()}\n\`\`\``,
    '',
  ].join('\n\n')
}

const meaningOf = ({ description, argChoices }: Option): string =>
  argChoices ? `${description} (${argChoices.join(', ')})` : description
