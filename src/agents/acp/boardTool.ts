import { boardToolNames, traitsOf, type BoardToolName } from '../../contract/agents/boardTools.ts'
import type { ToolNaming } from '../link/agentLink.ts'
import type { KnownCall } from './knownCall.ts'
import { boardServer, toolNames } from './toolCalls.ts'
import { asObject } from '../link/json.ts'

type Asked = { toolCallId: string; title?: string | null; kind?: string | null }

/** The names of the board's tools in the programs of Claude Code and Qwen Code, and of Codex. */
const toolsByName = new Map(
  boardToolNames.flatMap(tool =>
    [`mcp__${boardServer}__${tool}`, `mcp.${boardServer}.${tool}`].map(name => [name, tool]),
  ),
)
const toolNamed = (name: string): BoardToolName | undefined => toolsByName.get(name)

/**
 * The board's own tool that a permission request is about. The tool is recognized only by data that the agent's program generates
 * and a model cannot write: the tool's names, the beginning of the call's ID, or titles that the program copies from the MCP
 * server.
 */
export function boardToolOf(asked: Asked, call: KnownCall, naming: ToolNaming | undefined): BoardToolName | undefined {
  if (call.isOver) return undefined
  if (call.names.length > 0) {
    const [tool, ...others] = call.names.map(toolNamed)
    return others.every(other => other === tool) ? tool : undefined
  }
  if (naming === 'call_id') return boardToolNames.find(tool => isNamedById(asked, tool))
  return naming === 'title' ? boardToolNames.find(tool => isNamedByTitle(asked, call, tool)) : undefined
}

/**
 * Whether a request might be about a board tool that the agent has not named yet. Claude Code can name the tool a moment later.
 */
export const awaitsName = ({ title }: Asked, { names }: KnownCall): boolean =>
  names.length === 0 && typeof title === 'string' && toolNamed(title) !== undefined

const isNamedById = ({ toolCallId, title, kind }: Asked, tool: BoardToolName): boolean =>
  kind === 'other' &&
  toolCallId.startsWith(`mcp_${boardServer}_${tool}__`) &&
  title === `${tool} (${boardServer} MCP Server)`

/**
 * GitHub Copilot CLI asks about a tool of a server with the kind `other`, and announces its call with a kind that follows from the tool's
 * name. The title of its commands is a description that a model wrote.
 */
const isNamedByTitle = ({ title, kind }: Asked, call: KnownCall, tool: BoardToolName): boolean =>
  kind === 'other' &&
  (call.kind === 'other' || call.kind === kindByVerb[tool.split('_')[0]!]) &&
  call.title === `${boardServer}-${tool}` &&
  title === traitsOf(tool).title

const kindByVerb: Readonly<Record<string, string>> = { create: 'edit', delete: 'delete' }

const commandTools = boardToolNames.filter(name => traitsOf(name).runsCommands)
/** `mcp__board__add_monitor`, `board-add_monitor` or `add_monitor (board MCP Server)`; `grep add_monitor` is a command. */
const namesCommandTool = new RegExp(`^\\S*(${commandTools.join('|')})(__\\S*| \\([^)]*\\))?$`)

/**
 * Whether a piece of a call might be of a board tool that runs a command outside the sandbox. Unlike `boardToolOf`, it also accepts
 * words that a model can write: a false positive only asks a person.
 */
export function mayRunUnsandboxed(update: Readonly<Record<string, unknown>>): boolean {
  const { toolCallId, title, rawInput } = update
  const input = asObject(rawInput)
  const words = [toolCallId, title, input.tool, ...toolNames(update)]
  return (
    words.some(each => typeof each === 'string' && (namesCommandTool.test(each) || isCommandToolTitle(each))) ||
    'allowUnsandboxed' in input ||
    'allowUnsandboxed' in asObject(input.arguments)
  )
}

const isCommandToolTitle = (title: string): boolean => commandTools.some(name => traitsOf(name).title === title)
