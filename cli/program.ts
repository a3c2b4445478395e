import { Option, type Command } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import { durationSecs } from './parsing/arguments.ts'
import { example, formatHelp, prints } from './help/help.ts'
import { load } from './parsing/loadCommands.ts'
import { RootCommand, type Programs } from './programs.ts'
import { write } from './output/streams.ts'
import { groups, nouns, type Noun } from './tree.ts'

/**
 * Creates the tree with the name, alias and summary of every noun, without subcommands: these are loaded when the noun is
 * invoked, or by `loadAll`. If the words start with a noun, creates only that noun, because creating all takes milliseconds.
 */
export function createProgram(programs: Programs, words: readonly string[] = []): Command {
  const program = new RootCommand(programs)
    .description('A project board that runs coding agents, and its command line.')
    .version(manifest.version, '-V, --version', 'print the version')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: write,
      writeErr: () => {
        /* cli/failures/report.ts prints errors */
      },
      outputError: () => {
        /* cli/failures/report.ts prints errors */
      },
    })
    .configureHelp({ showGlobalOptions: true, minWidthToWrap: 24, formatHelp })
    .hook('preSubcommand', (_program, command) =>
      load(command, command.name() === words[0] || command.alias() === words[0] ? words[1] : undefined),
    )
  addGlobals(program)
  const meant = nouns.find(({ name, alias }) => name === words[0] || (alias !== undefined && alias === words[0]))
  if (meant) addNoun(program, meant)
  else for (const group of groups) for (const noun of nouns) if (noun.group === group) addNoun(program, noun)
  addHelp(program)
  return program
}

function addNoun(program: Command, { name, alias, summary, group }: Noun): void {
  const command = program.command(name).summary(summary).helpGroup(group).helpCommand(false)
  if (alias) command.alias(alias)
}

/** The names of `topics`, which only the help and its completion load. */
const topicNames = 'environment, exit-codes, formatting, proxy, recipes, scripting'

/** Adds the help command and, below the list of commands, the topics. */
function addHelp(program: Command): void {
  const help = program
    .command('help [words...]')
    .summary('Show help for a command or a topic, or search it')
    .helpGroup('Help')
    .description(
      `Show help for a command, or for a topic: ${topicNames}. Other words search the help: board help squash.`,
    )
    .action(async (words: string[]) => (await import('./commands/help.ts')).showHelp(program, words, load))
  prints(help, null, 'command summary')
  example(
    program.addHelpText(
      'after',
      `\nTopics (board help <topic>):\n  ${topicNames}\n\nCommands for common tasks: board help recipes\nSearch the help: board help <words>`,
    ),
    'board serve',
    'board projects create my-app --path .',
    'board cards add "Fix the login"',
    'board cards list',
  )
}

function addGlobals(program: Command): void {
  program
    .option('--url <url>', 'address of the server')
    .option('--token-file <file>', 'file with the token, or - for stdin')
    .option('--profile <profile>', 'name of the profile')
    .option('-P, --project <project>', 'name or ID of the project')
    .option('--json [fields]', 'print JSON with all fields, or with these: id,title')
    .option('--jq <expression>', 'filter the JSON with a jq expression')
    .option('--template <text>', 'print this template for each row, with {{fields}}')
    .option('-q, --quiet', 'print only IDs')
    .addOption(new Option('--color <when>', 'when to print color').choices(['always', 'never', 'auto']))
    .option('--no-color', 'same as --color never')
    .option('--no-input', 'never prompt')
    .option('--timeout <time>', 'time limit of a request: 30, 30s, 5m', durationSecs)
    .option('--debug', 'print each request to stderr')
    .helpOption('-h, --help', 'show help')
}
