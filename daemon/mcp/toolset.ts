import type { ToolGroup } from '../../src/contract/tool.ts'
import type { Caller } from '../../src/domain/caller.ts'
import type { Reader } from '../../src/store/database.ts'
import { rightsOf } from './rights.ts'
import { describeRow, type Description, type RowTool } from './rowTools.ts'
import type { Tool } from './tool.ts'
import { tools as agentTools } from './tools.ts'

/** A tool by its name: made by hand, or of a row of the contract. */
export type Found = { byHand: Tool } | { ofRow: RowTool }

/** Which tools a client asks for. */
export interface Choice {
  /** Undefined: those of all groups. */
  groups: readonly ToolGroup[] | undefined
  /** Those alone that change nothing. */
  readOnly: boolean
}
/** The tools of a caller. */
export interface Toolset {
  /** Those that the caller may use in some project. */
  list(): Promise<Description[]>
  /** The tool of that name, whether or not the caller may use it: calls are authorized by themselves. */
  find(name: string): Found | undefined
}

/** The tools of an agent on its card, or of people and keys as rows of the contract declare them. `choice` leaves out the others. */
export function toolsetOf(
  db: Reader,
  caller: Caller,
  rows: ReadonlyMap<string, RowTool>,
  { groups, readOnly }: Choice,
): Toolset {
  const offered = [...agentTools].filter(([, tool]) => !readOnly || tool.readOnly)
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
