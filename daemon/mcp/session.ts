import type { Call } from '../http/handlers.ts'
import type { RowTool } from './rowTools.ts'
import type { ToolDependencies } from './tool.ts'
import type { Choice } from './toolset.ts'

/** The context in which a message is answered. */
export interface Session {
  app: ToolDependencies
  call: Call
  /** The tools that rows of the contract declare. */
  rows: ReadonlyMap<string, RowTool>
  choice: Choice
}
