import type { TranscriptRole } from '../../store/agents/transcripts.ts'
import type { ToolPiece } from '../../views/agents.ts'
import type { RawUpdate } from '../link/agentLink.ts'
import { readTerminalOutput } from '../link/terminalOutput.ts'
import { titleOf, toolNames } from './toolCalls.ts'
import { asObject } from '../link/json.ts'

/** An update in the terms of the transcript and the session's row. */
export type ParsedUpdate =
  | { kind: 'text'; role: Exclude<TranscriptRole, 'tool' | 'plan'>; text: string; label?: string }
  | { kind: 'plan'; text: string }
  | { kind: 'tool'; callId: string; begins: boolean; piece: ToolPiece }
  | { kind: 'usage'; contextUsed: number | null; contextSize: number | null; costUsd: number | null }
  | { kind: 'commands'; commands: Array<{ name: string; description: string }> }
  | { kind: 'nothing' }

/** The maximum length in UTF-16 units. A longer text continues in the next message; a longer tool input or output is cut. */
export const maxMessageLength = 65_536
const maxCommands = 200
const maxLocations = 50
const maxDepth = 32
const nothing: ParsedUpdate = { kind: 'nothing' }
const chunkRoles: Readonly<Record<string, 'user' | 'agent' | 'thought' | 'system'>> = {
  user_message_chunk: 'user',
  agent_message_chunk: 'agent',
  agent_thought_chunk: 'thought',
  compaction_summary_chunk: 'system',
}
/** Updates to the agent's state that are not part of the conversation. */
const ignoredKinds = new Set(['config_option_update', 'session_info_update'])

/** Parses an untrusted update of an agent's session. Omits fields that are missing or have another type, and cuts long ones. */
export function parseUpdate(update: RawUpdate): ParsedUpdate {
  const kind = update.sessionUpdate
  const role = chunkRoles[kind]
  if (role)
    return {
      kind: 'text',
      role,
      text: blockText(update.content),
      label: typeof update.messageId === 'string' ? update.messageId.slice(0, 200) : undefined,
    }
  if (kind === 'tool_call' || kind === 'tool_call_update')
    return {
      kind: 'tool',
      callId: plainText(update.toolCallId, 200) || 'unnamed',
      begins: kind === 'tool_call',
      piece: toolPiece(update),
    }
  if (kind === 'plan')
    return { kind: 'plan', text: truncate(list(update.entries).map(planLine).join('\n'), maxMessageLength) }
  if (kind === 'usage_update') return usageOf(update)
  if (kind === 'available_commands_update')
    return { kind: 'commands', commands: list(update.availableCommands).slice(0, maxCommands).flatMap(command) }
  if (kind === 'current_mode_update')
    return { kind: 'text', role: 'system', text: `Mode: ${plainText(update.currentModeId, 200)}\n` }
  if (ignoredKinds.has(kind)) return nothing
  return { kind: 'text', role: 'system', text: `${truncate(limitSize(update, 2000, true), 2000)}\n` }
}

/** A step of a plan as an item of a Markdown list. */
function planLine(entry: unknown): string {
  const { content, status } = asObject(entry)
  return `- [${status === 'completed' ? 'x' : status === 'in_progress' ? '~' : ' '}] ${plainText(content, 2000).replaceAll('\n', ' ')}`
}

function toolPiece(update: RawUpdate): ToolPiece {
  const { kind, status, rawInput, rawOutput, content, locations } = update
  const [name, [program]] = [plainText(titleOf(update), 500), toolNames(update)]
  const blocks = Array.isArray(content) ? content.map(asObject) : undefined
  const terminal = terminalText(update)
  const diffs = blocks?.filter(({ type }) => type === 'diff')
  return {
    ...(name && { name }),
    ...(program && { program }),
    ...(typeof kind === 'string' && { kind: plainText(kind, 50) }),
    ...((status === 'pending' || status === 'in_progress' || status === 'completed' || status === 'failed') && {
      status,
    }),
    ...(rawInput !== undefined && { input: limitSize(rawInput, maxMessageLength) }),
    ...(terminal !== undefined && { terminal }),
    ...(rawOutput !== undefined
      ? { output: limitSize(rawOutput, maxMessageLength) }
      : diffs && diffs.length > 0 && { output: limitSize(diffs, maxMessageLength) }),
    ...(blocks && {
      content: truncate(
        blocks
          .filter(({ type }) => type !== 'diff')
          .map(block => blockText(block.content ?? block))
          .join('\n'),
        maxMessageLength,
      ),
    }),
    ...(Array.isArray(locations) && {
      locations: locations
        .slice(0, maxLocations)
        .map(asObject)
        .map(({ path, line }) => ({ path: plainText(path, 4096), line: count(line) })),
    }),
  }
}

/** A command's new output, followed by the exit code if the command failed. */
function terminalText(update: RawUpdate): string | undefined {
  const { text, exitCode } = readTerminalOutput(update)
  const exit = exitCode === null || exitCode === 0 ? '' : `\n[exit code ${exitCode}]`
  return text === undefined && exit === '' ? undefined : (text ?? '').replaceAll('\0', '') + exit
}

/** The text of a content block, or a placeholder for a block without text. */
function blockText(value: unknown): string {
  const block = asObject(value)
  if (typeof block.text === 'string') return block.text
  if (block.type === 'resource')
    return typeof asObject(block.resource).text === 'string'
      ? (asObject(block.resource).text as string)
      : `[${plainText(asObject(block.resource).uri, 2000)}]`
  if (block.type === 'resource_link') return `[${plainText(block.name, 500)}](${plainText(block.uri, 2000)})`
  if (block.type === 'terminal') return `[terminal ${plainText(block.terminalId, 200)}]`
  return typeof block.type === 'string'
    ? `[${plainText(block.type, 50)} ${plainText(block.mimeType, 100)}]`.replace(' ]', ']')
    : ''
}

function usageOf({ used, size, cost }: RawUpdate): ParsedUpdate {
  const { amount, currency } = asObject(cost)
  return {
    kind: 'usage',
    contextUsed: count(used),
    contextSize: count(size),
    costUsd: typeof amount === 'number' && Number.isFinite(amount) && amount >= 0 && currency === 'USD' ? amount : null,
  }
}

function command(value: unknown): Array<{ name: string; description: string }> {
  const { name, description } = asObject(value)
  const title = plainText(name, 100).trim()
  return title === '' ? [] : [{ name: title, description: plainText(description, 500) }]
}

/** The value itself if it is short and flat enough, else the start of its JSON. */
function limitSize(value: unknown, length: number, asText: true): string
function limitSize(value: unknown, length: number): unknown
function limitSize(value: unknown, length: number, asText = false): unknown {
  if (typeof value === 'string') return truncate(value, length)
  if (isDeep(value, maxDepth)) return '[nested too deeply to be kept]'
  const json = JSON.stringify(value)
  return asText || json.length > length ? truncate(json, length) : value
}

const isDeep = (value: unknown, left: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (left === 0 || Object.values(value).some(each => isDeep(each, left - 1)))
const truncate = (text: string, length: number): string =>
  text.length <= length
    ? text
    : `${text.slice(0, length - 100).toWellFormed()}\n[${text.length - length + 100} more characters were omitted]`
const plainText = (value: unknown, length: number): string =>
  typeof value === 'string' ? value.slice(0, length).replaceAll('\0', '').toWellFormed() : ''
const count = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0
    ? Math.min(Math.round(value), Number.MAX_SAFE_INTEGER)
    : null
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
