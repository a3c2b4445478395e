import { appendFileSync } from 'node:fs'

/** The columns of the table in docs/agents.md that are filled by running the agents. */
export type Cell =
  | 'found'
  | 'starts'
  | 'credential'
  | 'base URL'
  | 'model'
  | 'asks'
  | 'refuses'
  | 'steer'
  | 'MCP'
  | 'usage'
  | 'cancel'
  | 'resume'
  | 'relay'
  | '401'
  | '404'
  | '429'
  | '500'
  | 'key'
  | 'kill -9'
  | 'agent killed'
  | 'other hosts'

/** Records what an agent has done, for start.mjs to write or to compare. */
export function recordCell(agent: string, cell: Cell, value: string): void {
  const file = process.env.BOARD_AGENT_CELLS
  if (file) appendFileSync(file, `${JSON.stringify({ agent, cell, value })}\n`)
}
