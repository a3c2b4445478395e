import { unaskedTools } from '../../contract/boardTools.ts'
import { shown } from '../link/failureReasons.ts'

/** The name under which agents get the board's MCP server. */
export const boardServer = 'board'

const longestName = 200
const longestValue = 60
const mostValues = 4
/** The tools that need no person's permission, as Claude Code and Qwen Code name them, and as Codex does. */
const unaskedNames: ReadonlySet<string> = new Set(
  unaskedTools.flatMap(name => [`mcp__${boardServer}__${name}`, `mcp.${boardServer}.${name}`]),
)

type Json = Readonly<Record<string, unknown>>
const record = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})

/**
 * The names of a call's tool that the agent's own program tells: the protocol's `name`, and where Qwen Code, Claude Code and
 * Codex put it. Titles, inputs and the names of options are none: a model may write those.
 */
export function toolNames({ name, title, _meta }: Json): string[] {
  const meta = record(_meta)
  const told = [
    name,
    meta.toolName,
    record(meta.claudeCode).toolName,
    meta.is_mcp_tool_call === true ? title : undefined,
  ]
  return [
    ...new Set(
      told
        .filter(each => typeof each === 'string')
        .map(each => each.slice(0, longestName).replaceAll('\0', '').toWellFormed())
        .filter(each => each !== ''),
    ),
  ]
}

/** Whether a call is of one of the board's own tools that need no person's permission. Names that contradict each other are of none. */
export const needsNoPermission = (names: readonly string[]): boolean =>
  names.length > 0 && names.every(name => unaskedNames.has(name))

/** The title of a tool call; '' where there is none, or where the agent gave the call's input in its place. */
export const titleOf = ({ title }: Json): string =>
  typeof title === 'string' && !/^\s*[{[]\s*("|\{|\[|[}\]])/.test(title) ? title : ''

/** What a question is about, as one line: the call's title, else its tool and what the tool is given. */
export function questionOf(
  toolCall: Json,
  names: readonly string[],
  options: readonly { name: string; kind: string }[],
): string {
  const tool = names[0] ?? sharedName(options)
  return (
    shown(titleOf(toolCall)) ||
    shown([tool, inputOf(toolCall)].filter(Boolean).join(' ')) ||
    'The agent asks for permission.'
  )
}

/** What all offers to allow it always are about: "Always allow for user: deploy" and "Always allow in project: deploy" are about deploy. */
function sharedName(options: readonly { name: string; kind: string }[]): string | undefined {
  const [first, ...others] = options
    .filter(({ kind }) => kind === 'allow_always')
    .map(({ name }) => /: (.+)$/.exec(name)?.[1])
  return others.every(other => other === first) ? first : undefined
}

function inputOf({ rawInput }: Json): string {
  const values = Object.entries(record(rawInput))
    .slice(0, mostValues)
    .map(([name, value]) => `${name}: ${brief(typeof value === 'string' ? value : JSON.stringify(value))}`)
  return values.length > 0 ? `(${values.join(', ')})` : ''
}

const brief = (text: string): string => (text.length <= longestValue ? text : `${text.slice(0, longestValue - 1)}…`)
