import { Command, InvalidArgumentError, Option } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import { fillHelp } from './help.ts'
import { groups, nouns, type Noun } from './tree.ts'

/**
 * The whole tree with every noun's name, alias and summary, but without what is below a noun: that is loaded when the noun is
 * invoked, or by `loadAll`.
 */
export function createProgram(): Command {
  const program = new Command('board').description('A project board that runs coding agents, and its command line.')
    .version(manifest.version, '-V, --version', 'Print the version.').helpCommand(false).exitOverride()
    .configureOutput({ writeErr: () => { /* errors.ts tells of errors */ }, outputError: () => { /* the same */ } })
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
    .hook('preSubcommand', (_program, command) => load(command))
  addGlobals(program)
  for (const group of groups) for (const noun of nouns) if (noun.group === group) addNoun(program, noun)
  fillHelp(program)
  return program
}

/** Loads what is below every noun, for completion and for the whole help. */
export async function loadAll(program: Command): Promise<Command> {
  await Promise.all(program.commands.map(load))
  return program
}

const loaded = new WeakSet<Command>()

/** Loads what is below one noun, once. */
export async function load(command: Command): Promise<void> {
  const noun = nouns.find(({ name }) => name === command.name())
  if (!noun || loaded.has(command)) return
  loaded.add(command)
  const file = await noun.load()
  file.register(command)
}

function addNoun(program: Command, { name, alias, summary, group }: Noun): void {
  const command = program.command(name).summary(summary).description(`${summary}.`).helpGroup(`${group}:`)
  if (alias) command.alias(alias)
}

function addGlobals(program: Command): void {
  program
    .addOption(new Option('--url <url>', 'the server').helpGroup('Global options:'))
    .addOption(new Option('--token-file <file>', 'a file that holds the token').helpGroup('Global options:'))
    .addOption(new Option('--profile <name>', 'the profile to use').helpGroup('Global options:'))
    .addOption(new Option('-P, --project <project>', 'the project, by name or id').helpGroup('Global options:'))
    .addOption(new Option('--json [fields]', 'print JSON: everything, or the named fields (id,title)').helpGroup('Output options:'))
    .addOption(new Option('--jq <expression>', 'filter the JSON').helpGroup('Output options:'))
    .addOption(new Option('-q, --quiet', 'print ids only, and no talk').helpGroup('Output options:'))
    .addOption(new Option('--no-color', 'print no colour').helpGroup('Output options:'))
    .addOption(new Option('--no-input', 'never ask').helpGroup('Global options:'))
    .addOption(new Option('--timeout <seconds>', 'how long an answer may take').argParser(seconds).helpGroup('Global options:'))
    .addOption(new Option('--debug', 'print each request on stderr').helpGroup('Global options:'))
    .helpOption('-h, --help', 'show help')
}

function seconds(text: string): number {
  if (!/^\d{1,6}(\.\d+)?$/.test(text)) throw new InvalidArgumentError('must be a number of seconds.')
  return Number(text)
}
