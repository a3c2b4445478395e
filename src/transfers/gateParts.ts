import * as v from 'valibot'
import { approverRoles, maxGateMinutes } from '../contract/boards/gates.ts'
import { maxAssignees } from '../contract/cards/cardPlan.ts'
import { AgentId, ImportedName, integer, IntegerId, Prompt, ShellCommand, type ColumnType } from '../contract/fields.ts'
import * as rules from '../domain/boards/gates.ts'
import { insertGate } from '../store/boards/gates.ts'
import { exportedGates } from '../store/projects/exports.ts'
import { part, readByProject } from './part.ts'

const place = { projectId: IntegerId, columnId: v.nullable(IntegerId), name: ImportedName }
const Command = v.strictObject({
  ...place,
  kind: v.literal('command'),
  command: ShellCommand,
  minutes: integer(1, maxGateMinutes),
})
/** Accounts are specific to a server. A gate that certain people pass requires admins of the project after an import. */
const Approval = v.strictObject({
  ...place,
  kind: v.literal('approval'),
  approvals: integer(1, maxAssignees),
  approverRole: v.picklist(approverRoles),
})
const Review = v.strictObject({
  ...place,
  kind: v.literal('review'),
  agent: v.nullable(AgentId),
  profile: v.nullable(AgentId),
  prompt: Prompt,
  minutes: integer(1, maxGateMinutes),
})
const Gate = v.variant('kind', [Command, Approval, Review])

/** The gates of projects, in order, without the results of cards. An import does not run them. */
export const gates = part({
  name: 'gates',
  schema: Gate,
  maxRecords: 100_000,
  read: readByProject(exportedGates),
  check: ({ projectId, columnId }, known) => {
    known.find('projects', projectId, 'projectId')
    if (columnId === null) return
    const column = known.find<{ columnType: ColumnType }>('columns', columnId, 'columnId')
    if (column && !rules.isWorkColumn(column)) known.addError('columnId', rules.workColumnRule)
  },
  write: async (tx, { projectId, columnId, ...gate }, made) => {
    const column = columnId === null ? null : made.rows.columns.get(columnId)!.id
    await insertGate(tx, {
      ...gate,
      ...(gate.kind === 'approval' && { approverIds: '[]' }),
      projectId: made.rows.projects.get(projectId)!.id,
      columnId: column,
    })
  },
})
