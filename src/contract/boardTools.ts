/** What one of the board's MCP tools does, which its annotations and the board's own permissions follow. */
interface ToolTraits {
  /** It changes nothing. */
  readOnly?: true
  /** It takes something away for good. */
  destructive?: true
  /** It runs a command of its caller's on the server's machine, which can do anything. */
  runsCommands?: true
}

/** Every tool of `/api/mcp`. */
const boardTools = {
  get_card: { readOnly: true },
  list_cards: { readOnly: true },
  list_columns: { readOnly: true },
  report_progress: {},
  create_card: {},
  attach_file: {},
  read_attachment: { readOnly: true },
  list_monitors: { readOnly: true },
  add_monitor: { runsCommands: true },
  delete_monitor: { destructive: true },
} as const satisfies Record<string, ToolTraits>

export type BoardToolName = keyof typeof boardTools
export const traitsOf = (name: BoardToolName): ToolTraits => boardTools[name]

/** The tools that the board lets its own agents use without asking a person: none that runs commands. */
export const unaskedTools = (Object.keys(boardTools) as BoardToolName[]).filter(name => !traitsOf(name).runsCommands)
