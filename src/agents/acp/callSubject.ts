import { visibleText } from '../../contract/visibleText.ts'
import { shellWord } from '../../process/shellWord.ts'
import type { ToolNaming } from '../link/agentLink.ts'
import { asObject, type Json } from '../link/json.ts'

/** The command that a tool call would run, and the files that it affects. */
export interface CallSubject {
  /** The command that would run. Null if the call runs no command or does not name it. */
  command: string | null
  paths: readonly string[]
  /** The plan that an agent proposes to carry out, as Markdown. */
  plan: string | null
}

const maxCommandLength = 20_000
const maxPlanLength = 65_536
const maxPathLength = 4096
/** If a call names more files than this, its paths are not shown. */
export const maxPaths = 200
const pathName = /path|file(_?name)?$|^(dir|directory|folder|uri|url|changes)$/i
const shells = /(^|\/)(ba|z|da|k)?sh$/

const list = (value: unknown): Json[] => (Array.isArray(value) ? value.slice(0, 1000).map(asObject) : [])

/** Reads the subject of an untrusted tool call, or of a piece of one. */
export function subjectOf(call: Json, naming: ToolNaming | undefined): CallSubject {
  const input = inputOf(call, naming)
  const isCommand = call.kind === 'execute' && naming === 'call_id' && call.rawInput === undefined
  return {
    command: commandOf(input) ?? (isCommand && typeof call.title === 'string' ? visibleCommand(call.title) : null),
    paths: pathsOf(call, input),
    plan: call.kind === 'switch_mode' ? planOf(call, input) : null,
  }
}

/** The subject of a call that comes in several updates: a later command replaces an earlier one, paths add up. */
export const joinSubjects = (before: CallSubject, after: CallSubject): CallSubject => ({
  command: after.command ?? before.command,
  paths: [...new Set([...before.paths, ...after.paths])].slice(0, maxPaths + 1),
  plan: after.plan ?? before.plan,
})
export const noSubject: CallSubject = { command: null, paths: [], plan: null }

/** The input of a call. For a call through an MCP server, the input of the server's tool. */
function inputOf({ rawInput, content }: Json, naming: ToolNaming | undefined): Json {
  const input = asObject(rawInput)
  if (typeof input.server === 'string' && typeof input.tool === 'string') return asObject(input.arguments)
  if (rawInput !== undefined || naming !== 'call_id') return input
  const text = asObject(list(content)[0]?.content).text
  if (typeof text !== 'string' || !text.startsWith('{')) return input
  try {
    return asObject(JSON.parse(text))
  } catch {
    return input
  }
}

function commandOf({ command, cmd }: Json): string | null {
  const given = command ?? cmd
  if (typeof given === 'string') return given.trim() === '' ? null : visibleCommand(given)
  if (!Array.isArray(given) || given.length === 0 || !given.every(word => typeof word === 'string')) return null
  const [program, option, script] = given as string[]
  return visibleCommand(
    given.length === 3 && shells.test(program!) && /^-l?c$/.test(option!) ? script! : given.map(shellWord).join(' '),
  )
}

/** The call's locations, the files of its diffs, and the input's fields that are named like paths. */
function pathsOf({ locations, content }: Json, input: Json): string[] {
  const named = Object.entries(input).flatMap(([name, value]) => (pathName.test(name) ? textsIn(value) : []))
  const diffs = list(content).flatMap(({ type, path }) => (type === 'diff' ? [path] : []))
  const found = [...list(locations).map(({ path }) => path), ...diffs, ...named]
  return [...new Set(found.filter(each => typeof each === 'string' && each !== ''))]
    .map(path => visibleText(path as string, maxPathLength))
    .slice(0, maxPaths + 1)
}

const textsIn = (value: unknown): unknown[] =>
  Array.isArray(value) ? value : typeof value === 'object' && value !== null ? Object.keys(value) : [value]

function planOf({ content }: Json, { plan }: Json): string | null {
  const text =
    typeof plan === 'string'
      ? plan
      : list(content)
          .map(block => asObject(block.content).text)
          .filter(each => typeof each === 'string')
          .join('\n\n')
  return text.trim() === '' ? null : visibleText(text, maxPlanLength)
}

const visibleCommand = (command: string): string => visibleText(command.trim(), maxCommandLength)
