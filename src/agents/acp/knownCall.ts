import type { CallSubject } from './callSubject.ts'

/** A tool call as the agent's updates describe it. */
export interface KnownCall {
  /** The tool's names in the agent's program. */
  names: readonly string[]
  /** The title and the kind with which the call began. */
  title: string | null
  kind: string | null
  /** Its tool is one of a server of tools. */
  isServerTool: boolean
  /** It might be of a tool of the board's that runs a command outside the sandbox. */
  isUnsandboxed: boolean
  /** The call has ended. A model may reuse its id, so its data does not apply to a later question. */
  isOver: boolean
  subject: CallSubject
}
