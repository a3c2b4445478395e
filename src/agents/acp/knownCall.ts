import type { CallSubject } from './callSubject.ts'

/** A tool call as the agent's updates describe it. */
export interface KnownCall {
  /** The tool's names in the agent's program. */
  names: readonly string[]
  /** The title and the kind with which the call began. */
  title: string | null
  kind: string | null
  /** Whether the tool belongs to an MCP server. */
  isServerTool: boolean
  /** Whether the call might be of a board tool that runs a command outside the sandbox. */
  isUnsandboxed: boolean
  /** Whether the call has ended. Its data does not apply to a later question, because models can reuse call IDs. */
  isOver: boolean
  subject: CallSubject
}
