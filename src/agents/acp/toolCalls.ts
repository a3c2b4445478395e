import { toPlainLine } from '../link/failureReasons.ts'
import { asObject, type Json } from '../link/json.ts'

/** The name under which agents get the board's MCP server. */
export const boardServer = 'board'

const maxNameLength = 200
const maxValueLength = 60
const maxValues = 4

/**
 * The tool names that the agent's own program reports: the protocol's `name`, and the fields of Qwen Code, Claude Code and Codex.
 * Titles, inputs and option names do not count, because a model can write them.
 */
export function toolNames({ name, title, _meta }: Json): string[] {
  const meta = asObject(_meta)
  const given = [
    name,
    meta.toolName,
    asObject(meta.claudeCode).toolName,
    meta.is_mcp_tool_call === true ? title : undefined,
  ]
  return [
    ...new Set(
      given
        .filter(each => typeof each === 'string')
        .map(each => each.slice(0, maxNameLength).replaceAll('\0', '').toWellFormed())
        .filter(each => each !== ''),
    ),
  ]
}

/** The title of a tool call. Empty if the title is missing, or is the call's input as JSON. */
export const titleOf = ({ title }: Json): string =>
  typeof title === 'string' && !/^\s*[{[]\s*("|\{|\[|[}\]])/.test(title) ? title : ''

/** The title of a permission request, as one line: the call's title, else its tool and input. */
export function requestTitle(
  toolCall: Json,
  names: readonly string[],
  options: readonly { name: string; kind: string }[],
): string {
  const tool = names[0] ?? sharedName(options)
  return (
    toPlainLine(titleOf(toolCall)) ||
    toPlainLine([tool, inputOf(toolCall)].filter(Boolean).join(' ')) ||
    'The agent asks for permission.'
  )
}

/**
 * The name that all options of the kind `allow_always` share: "Always allow for user: deploy" and "Always allow in project: deploy" give
 * deploy.
 */
function sharedName(options: readonly { name: string; kind: string }[]): string | undefined {
  const [first, ...others] = options
    .filter(({ kind }) => kind === 'allow_always')
    .map(({ name }) => /: (.+)$/.exec(name)?.[1])
  return others.every(other => other === first) ? first : undefined
}

function inputOf({ rawInput }: Json): string {
  const values = Object.entries(asObject(rawInput))
    .slice(0, maxValues)
    .map(([name, value]) => `${name}: ${shortenValue(typeof value === 'string' ? value : JSON.stringify(value))}`)
  return values.length > 0 ? `(${values.join(', ')})` : ''
}

const shortenValue = (text: string): string =>
  text.length <= maxValueLength ? text : `${text.slice(0, maxValueLength - 1)}…`
