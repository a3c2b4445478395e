import type { ToolGroup } from '../../src/contract/agents/tool.ts'
import type { Caller } from '../../src/domain/accounts/caller.ts'
import type { Reader } from '../../src/store/engine/database.ts'
import { rightsOf } from './rights.ts'
import { describeRow, type Description, type RowTool } from './rowTools.ts'
import type { Tool } from './tool.ts'
import { tools as agentTools } from './tools.ts'

/** A tool by name: a custom tool, or the tool of a route. */
export type Found = { byHand: Tool } | { ofRow: RowTool }

/** The tools that a client requests. */
export interface Choice {
  /** The requested groups. Undefined: all groups. */
  groups: readonly ToolGroup[] | undefined
  /** Whether to offer only tools that change nothing. */
  readOnly: boolean
}
export interface Toolset {
  /** Returns the tools that the caller can use in at least one project. */
  list(): Promise<Description[]>
  /** Returns the tool of that name, even if the caller cannot use it: each call is authorized separately. */
  find(name: string): Found | undefined
}

/** The tools of an agent on its card, or of people and keys as rows of the contract declare them. `choice` selects a part of them. */
export function toolsetOf(
  db: Reader,
  caller: Caller,
  rows: ReadonlyMap<string, RowTool>,
  { groups, readOnly }: Choice,
): Toolset {
  const offered = [...agentTools].filter(([, tool]) => isFor(caller, tool) && (!readOnly || tool.readOnly))
  if (caller.agent)
    return {
      list: async () => offered.map(([, tool]) => tool.describe(caller)),
      find: name => byHand(offered.find(([other]) => other === name)?.[1]),
    }
  const isChosen = (group: ToolGroup) => groups === undefined || groups.includes(group)
  const isOffered = ({ tool }: RowTool) => isChosen(tool.group) && (!readOnly || tool.does === 'reads')
  const others = offered.filter(([, { forPeople }]) => forPeople && isChosen(forPeople.group))
  return {
    list: async () => {
      const may = await rightsOf(db, caller)
      return [
        ...[...rows.values()].filter(row => isOffered(row) && may(row.endpoint.route.who)).map(describeRow),
        ...others.filter(([, { forPeople }]) => may(forPeople!.who)).map(([, tool]) => tool.describe(caller)),
      ]
    },
    find: name => {
      const row = rows.get(name)
      if (row) return isOffered(row) ? { ofRow: row } : undefined
      return byHand(others.find(([other]) => other === name)?.[1])
    },
  }
}

const byHand = (tool: Tool | undefined): Found | undefined => tool && { byHand: tool }

/** The reviewer of a gate has the tools that change nothing, and its own. */
const isFor = ({ agent }: Caller, { forReviewers, readOnly }: Tool): boolean =>
  agent?.isReviewer ? forReviewers || readOnly : !forReviewers
