import type { Argument, Command, Option } from 'commander'
import { writeSync } from 'node:fs'
import { findCommand } from '../parsing/resolveCommand.ts'
import type { Candidate } from './completionValues.ts'
import { load } from '../parsing/loadCommands.ts'
import { createProgram } from '../program.ts'
import type { Programs } from '../programs.ts'
import { settleJson } from '../parsing/run.ts'
import { truncate, escapeControls } from '../output/text.ts'

/** The candidates, or a value that the shell completes itself. */
type Completion = Candidate[] | 'files' | 'folders'

/** The position in a command line before the word at the cursor. */
interface Line {
  command: Command
  /** The arguments of the command so far. */
  given: string[]
  /** The option whose value is at the cursor. */
  pending?: Option
}

/** Shells block on the completion, so candidates that arrive later are dropped. Remote servers might need more time. */
const deadlineMs = Number(process.env.BOARD_COMPLETION_TIMEOUT_MS) || 270

/**
 * Prints the candidates at the cursor, one per line with a tab and a description. `:files` or `:folders` delegates to the
 * shell. Never fails and never writes to stderr, because it runs while a person types.
 * @param words the words after `board`; the last one is the word at the cursor
 */
export async function printCompletion(programs: Programs, words: readonly string[]): Promise<void> {
  const late = new Promise<void>(resolve => {
    setTimeout(resolve, Math.max(80, deadlineMs - process.uptime() * 1000))
  })
  await Promise.race([
    late,
    complete(createProgram(programs, words.slice(0, -1)), words).then(print, () => {
      /* No output means that there are no candidates. */
    }),
  ])
  process.exit()
}

async function complete(program: Command, words: readonly string[]): Promise<Completion> {
  const word = words.at(-1) ?? ''
  const before = settleJson(words.slice(0, -1))
  const mayBeFields = before.at(-1) === '--json'
  if (mayBeFields) before.pop()
  const line = await read(program, before)
  if (!line) return []
  const { command, given, pending } = line
  const fields = mayBeFields ? await matchingFields(command, word) : []
  if (fields.length > 0) return fields
  if (pending) return matching(await listValues(program, pending, line), word)
  if (word.startsWith('-') && !given.includes('--')) return completeOption(program, line, word)
  const below = commandsOf(command)
  if (given.length === 0 && below.length > 0) return matching(below, word)
  const argument = argumentAt(command, given.length)
  return argument
    ? matching(
        await listValues(program, argument, line),
        word,
        argument.variadic ? given.slice(command.registeredArguments.length - 1) : [],
      )
    : []
}

/** Follows the words down the tree, and keeps the global options for finding the server. Undefined if there is no such command. */
async function read(program: Command, words: readonly string[]): Promise<Line | undefined> {
  const line: Line = { command: program, given: [] }
  for (const [at, word] of words.entries()) {
    const { command, given, pending } = line
    if (pending) {
      program.setOptionValue(pending.attributeName(), word)
      line.pending = undefined
    } else if (word.startsWith('-') && word !== '-' && !given.includes('--')) {
      line.pending = readOption(program, command, word)
      if (word === '--') given.push(word)
    } else if (command.commands.length > 0 && given.length === 0) {
      const next = findCommand(command, word)
      if (!next) return undefined
      await load(next, words[at + 1])
      line.command = next
    } else given.push(word)
  }
  return { ...line, given: line.given.filter(word => word !== '--') }
}

/** Records an option with its value in the same word. Returns an option whose value is the next word. */
function readOption(program: Command, command: Command, word: string): Option | undefined {
  const [name = '', inline] = word.startsWith('--') ? split(word) : [word.slice(0, 2), word.slice(2) || undefined]
  const option = optionsOf(command).find(({ long, short }) => long === name || short === name)
  if (!option?.required && !option?.optional) return undefined
  if (inline === undefined) return option
  program.setOptionValue(option.attributeName(), inline)
  return undefined
}

async function completeOption(program: Command, line: Line, word: string): Promise<Completion> {
  const [name, inline] = split(word)
  const options = optionsOf(line.command)
  if (inline === undefined)
    return matching(
      options.flatMap(({ long, description }) => (long ? [{ value: long, about: description }] : [])),
      word,
    )
  const option = options.find(({ long }) => long === name)
  const values = !option
    ? []
    : name === '--json'
      ? await matchingFields(line.command, inline)
      : await listValues(program, option, line)
  return typeof values === 'string'
    ? values
    : matching(
        values.map(({ value, about }) => ({ value: `${name}=${value}`, about })),
        word,
      )
}

/** The fields that the command prints. After a comma, lists the fields that are not typed yet, after the typed ones. */
async function matchingFields(command: Command, word: string): Promise<Candidate[]> {
  const given = word.split(',').slice(0, -1)
  const { fieldNames } = await import('./fieldNames.ts')
  const rest = fieldNames(command).filter(name => !given.includes(name))
  return matching(
    rest.map(name => ({ value: [...given, name].join(',') })),
    word,
  ) as Candidate[]
}

/** Splits `--column=done` into name and value. */
function split(word: string): [name: string, value?: string] {
  const at = word.indexOf('=')
  return at < 0 ? [word] : [word.slice(0, at), word.slice(at + 1)]
}

function optionsOf(command: Command): Option[] {
  const help = command.createHelp()
  return [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)]
}

const commandsOf = (command: Command): Candidate[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .map(each => ({ value: each.name(), about: each.summary() }))

function argumentAt({ registeredArguments }: Command, at: number): Argument | undefined {
  const last = registeredArguments.at(-1)
  return registeredArguments[at] ?? (last?.variadic ? last : undefined)
}

/** Returns the values of an option or argument: its choices, or the values of its placeholder (`<column>`). */
async function listValues(program: Command, taker: Option | Argument, { command, given }: Line): Promise<Completion> {
  if (taker.argChoices) return taker.argChoices.map(value => ({ value }))
  const placeholder = 'flags' in taker ? (/[<[]([\w-]+)/.exec(taker.flags)?.[1] ?? '') : taker.name()
  if (/^files?$/.test(placeholder)) return 'files'
  if (placeholder === 'folder') return 'folders'
  if (command.name() === 'help') return helpTopics(program, given)
  const { liveValues } = await import('./completionValues.ts')
  return liveValues(program, placeholder, { command, given, options: program.opts() }, deadlineMs)
}

/** The subcommands of the named command. At the top level, also the topics. */
async function helpTopics(program: Command, names: readonly string[]): Promise<Candidate[]> {
  const line = await read(program, names)
  const { topics } = await import('./topics.ts')
  return [
    ...(line ? commandsOf(line.command) : []),
    ...(names.length === 0 ? Object.entries(topics).map(([value, { summary }]) => ({ value, about: summary })) : []),
  ]
}

/** The candidates that start with the word, in any case, and are not typed yet. */
function matching(completion: Completion, word: string, given: readonly string[] = []): Completion {
  if (typeof completion === 'string') return completion
  return completion.filter(({ value }) => value.toLowerCase().startsWith(word.toLowerCase()) && !given.includes(value))
}

/**
 * A word without a special meaning in any shell. Other candidates are quoted as one word, so that the name of a card or column cannot run
 * or break anything.
 */
const plain = /^(?:--?[A-Za-z][A-Za-z0-9-]*=?)?(?:[A-Za-z0-9][A-Za-z0-9._/-]*(?:,[A-Za-z0-9._-]+)*)?$/

function print(completion: Completion): void {
  const lines =
    typeof completion === 'string'
      ? [`:${completion}`]
      : completion
          .filter(({ value }) => plain.test(value))
          .map(({ value, about }) => (about ? `${value}\t${truncate(escapeControls(about).trim(), 60)}` : value))
  if (lines.length > 0) writeSync(1, `${lines.join('\n')}\n`)
}
