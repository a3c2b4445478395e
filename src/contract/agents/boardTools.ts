/** The effects of one of the board's MCP tools, which determine its annotations and the board's own permissions. */
interface ToolTraits {
  /** The action, for users. */
  title: string
  /** The tool changes nothing. */
  readOnly?: true
  /** The tool deletes data permanently. */
  destructive?: true
  /** The tool is only for the reviewer of a gate, whose other tools are those that change nothing. */
  forReviewers?: true
  /** The tool runs its caller's command on the server's machine, which can do anything. */
  runsCommands?: true
}

/** Every tool of `/api/mcp`. */
const boardTools = {
  get_card: { title: 'Get a card', readOnly: true },
  list_cards: { title: 'List cards', readOnly: true },
  list_columns: { title: 'List columns', readOnly: true },
  list_schedules: { title: 'List schedules', readOnly: true },
  report_progress: { title: 'Report progress' },
  ask_person: { title: 'Ask a person' },
  submit_review: { title: 'Submit the review', forReviewers: true },
  answer_comment: { title: 'Answer a review comment' },
  get_pull_request: { title: 'Get a pull request', readOnly: true },
  answer_request_comment: { title: 'Answer a pull request comment' },
  list_comments: { title: 'List comments', readOnly: true },
  add_comment: { title: 'Comment on a card' },
  create_card: { title: 'Create a card' },
  attach_file: { title: 'Attach a file' },
  read_attachment: { title: 'Read an attachment', readOnly: true },
  list_budgets: { title: 'List budgets', readOnly: true },
  list_monitors: { title: 'List monitors', readOnly: true },
  add_monitor: { title: 'Create a monitor', runsCommands: true },
  delete_monitor: { title: 'Delete a monitor', destructive: true },
} as const satisfies Record<string, ToolTraits>

export type BoardToolName = keyof typeof boardTools
export const boardToolNames = Object.keys(boardTools) as BoardToolName[]
export const traitsOf = (name: BoardToolName): ToolTraits => boardTools[name]

/** The tools that the board's own agents can use without asking a user: none of them runs commands. */
export const unaskedTools = boardToolNames.filter(name => !traitsOf(name).runsCommands)
