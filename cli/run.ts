import { CommanderError, type Command } from 'commander'
import { report } from './errors.ts'
import { usage, type Failure } from './exit.ts'
import { nearest } from './text.ts'

/** Parses the arguments, runs the command that they name, and leaves its exit code in process.exitCode. */
export async function run(program: Command, argv: string[]): Promise<void> {
  try {
    if (argv.length === 0) return program.outputHelp()
    await program.parseAsync(settleJson(argv), { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return
    report(error instanceof CommanderError ? await explain(program, argv, error) : error, argv.includes('--debug'))
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

/** Commander's error as one of ours, with the command that it is about. */
async function explain(program: Command, argv: readonly string[], error: CommanderError): Promise<Failure> {
  const at = commandAt(program, argv)
  const see = `board ${[...pathOf(at), '--help'].join(' ')}`
  const message = error.message
    .replace(/^error: /, '')
    .split('\n')[0]!
    .replace(/\.$/, '')
  const [, start, given, rule] = /^(.*'(.*)' is invalid(?: for argument '[^']*')?)\. (.*)$/s.exec(message) ?? []
  if (start !== undefined) return invalid(start, given!, rule!, see)
  const unknown = /^unknown (command|option) '(.*)'$/.exec(message)
  if (error.code === 'commander.help')
    return usage(`which command? ${at.commands.map(command => command.name()).join(', ')}`, { see })
  if (!unknown) return usage(message, { see })
  const takesServe = at.registeredArguments.some(argument => argument.name() === 'arguments')
  if (unknown[1] === 'option' && takesServe)
    return usage(message, {
      hint: `what board serve takes stands behind --: board ${pathOf(at).join(' ')} -- ${unknown[2]}`,
      see,
    })
  const candidates =
    unknown[1] === 'command' ? at.commands.flatMap(command => [command.name(), ...command.aliases()]) : optionsAt(at)
  const word = unknown[2]!.split('=')[0]!
  const meant =
    unknown[1] === 'command'
      ? [...new Set([...sameAs(word, candidates), ...nearest(word, candidates)])]
      : nearest(word, candidates)
  return usage(message, { hint: meant.length > 0 ? `did you mean: ${meant.join(', ')}` : undefined, see })
}

/** What other programs call the same. */
const synonyms = [
  ['list', 'ls', 'all'],
  ['view', 'show', 'get', 'info', 'cat', 'describe'],
  ['create', 'add', 'new', 'make', 'start'],
  ['edit', 'update', 'set', 'change', 'modify', 'rename'],
  ['delete', 'remove', 'rm', 'del', 'destroy', 'revoke', 'detach'],
  ['cancel', 'stop', 'kill', 'abort'],
  ['login', 'signin', 'logon'],
  ['logout', 'signout'],
  ['logs', 'log', 'tail'],
]

const sameAs = (word: string, candidates: readonly string[]): string[] =>
  synonyms.filter(each => each.includes(word)).flatMap(each => candidates.filter(candidate => each.includes(candidate)))

/** A value that an option or argument does not take, and which of its choices was probably meant. */
function invalid(start: string, given: string, rule: string, see: string): Failure {
  const choices = /^Allowed choices are (.*)$/.exec(rule)?.[1]
  const meant = choices === undefined ? [] : nearest(given, choices.split(', '))
  return usage(`${start}: ${choices === undefined ? rule : `it is one of ${choices}`}`, {
    hint: meant.length > 0 ? `did you mean: ${meant.join(', ')}` : undefined,
    see,
  })
}

function commandAt(command: Command, argv: readonly string[]): Command {
  const next = argv.findIndex(word =>
    command.commands.some(each => each.name() === word || each.aliases().includes(word)),
  )
  if (next < 0) return command
  return commandAt(
    command.commands.find(each => each.name() === argv[next] || each.aliases().includes(argv[next]!))!,
    argv.slice(next + 1),
  )
}

const pathOf = (command: Command): string[] => (command.parent ? [...pathOf(command.parent), command.name()] : [])
const optionsAt = (command: Command | null): string[] =>
  command
    ? [...command.options.flatMap(option => (option.long ? [option.long] : [])), ...optionsAt(command.parent)]
    : []
