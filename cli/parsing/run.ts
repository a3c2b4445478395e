import { CommanderError, type Command } from 'commander'
import { findUnknownOption, resolveCommand, type NamedCommand } from './resolveCommand.ts'
import { suggestCommands } from './suggestCommands.ts'
import { lineOf } from './commandPath.ts'
import { report } from '../failures/report.ts'
import { usage, type Failure } from '../failures/failure.ts'
import { nearestWords } from '../output/text.ts'

/** Parses the arguments, runs the command that they name, and leaves its exit code in process.exitCode. */
export async function run(program: Command, argv: string[]): Promise<void> {
  try {
    if (argv.length === 0) return program.outputHelp()
    const named = await resolveCommand(program, settleJson(argv))
    await program.parseAsync(named.words, { from: 'user' }).catch(async (error: unknown) => {
      if (!(error instanceof CommanderError) || error.exitCode === 0) throw error
      if (error.code === 'commander.help') return named.command.outputHelp()
      throw await explain(named, error)
    })
  } catch (error) {
    if (error instanceof CommanderError) return
    report(error, argv.includes('--debug'))
  }
}

/**
 * `--json` takes its fields from the next word only if that can be a list of names: in `board cards view --json 12` the 12 is
 * the card. A `--json` without fields moves to the end, where nothing can be taken for its value.
 */
export function settleJson(argv: readonly string[]): string[] {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length
  const words = argv.slice(0, end)
  const bare = words.flatMap((word, at) => (word === '--json' && !isFields(words[at + 1]) ? [at] : []))
  return [...words.filter((_, at) => !bare.includes(at)), ...(bare.length > 0 ? ['--json'] : []), ...argv.slice(end)]
}

const isFields = (word: string | undefined): boolean =>
  word !== undefined && /^[A-Za-z][\w.]*(,[A-Za-z][\w.]*)*$/.test(word)

/** Converts an error of commander, with the affected command. */
async function explain(named: NamedCommand, error: CommanderError): Promise<Failure> {
  const { command: at, given } = named
  const see = `${lineOf(at)} --help`
  const text = error.message
    .replace(/^error: /, '')
    .split('\n')[0]!
    .replace(/\.$/, '')
  const missing = /^required option '(.*)' not specified$/.exec(text)?.[1]
  // A missing value might have been given under an unknown name.
  const unknown = missing === undefined ? undefined : findUnknownOption(named)
  if (missing !== undefined && unknown === undefined) return missingOption(at, missing, see)
  // A default subcommand takes a word that names no other one for an argument.
  const isVerb = error.code === 'commander.excessArguments' && at.commands.length > 0 && !given[0]?.startsWith('-')
  const known = isVerb ? `unknown command '${given[0]}'` : text
  const message = unknown === undefined ? known : `unknown option '${unknown}'`
  const [, start, value, argument, rule] =
    /^(.*'(.*)' is invalid(?: for argument '([^']*)')?)\. (.*)$/s.exec(message) ?? []
  if (start !== undefined) return invalid(argument ?? `${start}:`, value!, rule!, see)
  const [, kind, word = ''] = /^unknown (command|option) '(.*)'$/.exec(message) ?? []
  if (kind === undefined) return usage(message, { see })
  const takesServe = at.registeredArguments.some(argument => argument.name() === 'arguments')
  if (kind === 'option' && takesServe)
    return usage(message, { hint: `put the options of board serve after --: ${lineOf(at)} -- ${word}`, see })
  const meant =
    kind === 'command' ? await suggestCommands(at, word, given.slice(1)) : suggestOptions(at, word.split('=')[0]!)
  return usage(message, { hint: meant.length > 0 ? `did you mean: ${meant.join(', ')}` : undefined, see })
}

/** Options that have the same meaning in different commands. */
const optionSynonyms = [
  ['--to', '--column', '--into', '--status'],
  ['--output', '--out', '--file', '--dest'],
  ['--title', '--name', '--summary'],
  ['--prompt', '--description', '--body', '--message'],
  ['--prompt-file', '--body-file', '--file'],
  ['--label', '--add-label', '--tag'],
  ['--yes', '--force', '--confirm'],
  ['--limit', '--max', '--count', '--number'],
  ['--path', '--folder', '--dir', '--cwd'],
  ['--watch', '--follow', '--tail'],
  ['--every', '--interval', '--cron'],
  ['--expires', '--ttl', '--expiry'],
]

/** Suggests options of a command: those with a similar name, and those that have another name in other commands or programs. */
function suggestOptions(command: Command, word: string): string[] {
  const own = command.options.flatMap(({ long }) => (long ? [long] : []))
  const same = optionSynonyms
    .filter(each => each.includes(word))
    .flatMap(each => own.filter(option => each.includes(option)))
  return [...new Set([...same, ...nearestWords(word, optionsAt(command))])]
}

/** Returns the failure for a missing required option, with its choices. */
function missingOption({ options }: Command, flags: string, see: string): Failure {
  const choices = options.find(option => option.flags === flags)?.argChoices
  return usage(`${flags} is required${choices ? `: one of ${choices.join(', ')}` : ''}`, { see })
}

/** Returns the failure for an invalid value of an option or argument, with a suggestion. */
function invalid(subject: string, given: string, rule: string, see: string): Failure {
  const choices = /^Allowed choices are (.*)$/.exec(rule)?.[1]
  const meant = choices === undefined ? [] : nearestWords(given, choices.split(', '))
  return usage(`${subject} ${choices === undefined ? rule : `must be one of ${choices}`}`, {
    hint: meant.length > 0 ? `did you mean: ${meant.join(', ')}` : undefined,
    see,
  })
}

const optionsAt = (command: Command | null): string[] =>
  command
    ? [...command.options.flatMap(option => (option.long ? [option.long] : [])), ...optionsAt(command.parent)]
    : []
