import * as v from 'valibot'
import { maxGateMinutes } from '../contract/boards/gates.ts'
import { ImportedName, integer, IntegerId, ShellCommand, type ColumnType } from '../contract/fields.ts'
import * as rules from '../domain/boards/gates.ts'
import { insertGate } from '../store/boards/gates.ts'
import { exportedGates } from '../store/projects/exports.ts'
import { part } from './part.ts'

const Gate = v.strictObject({
  projectId: IntegerId,
  columnId: v.nullable(IntegerId),
  name: ImportedName,
  command: ShellCommand,
  minutes: integer(1, maxGateMinutes),
})

/** The gates of projects, in order, without the results of cards. An import runs none of them. */
export const gates = part({
  name: 'gates',
  schema: Gate,
  maxRecords: 100_000,
  read: async function* (db, scope) {
    for (const { id } of scope.projects) yield (await exportedGates(db, id)).map(({ json }) => json)
  },
  check: ({ projectId, columnId }, known) => {
    known.find('projects', projectId, 'projectId')
    if (columnId === null) return
    const column = known.find<{ columnType: ColumnType }>('columns', columnId, 'columnId')
    if (column && !rules.isWorkColumn(column)) known.addError('columnId', rules.workColumnRule)
  },
  write: async (tx, { projectId, columnId, ...gate }, made) => {
    const column = columnId === null ? null : made.rows.columns.get(columnId)!.id
    await insertGate(tx, { ...gate, projectId: made.rows.projects.get(projectId)!.id, columnId: column })
  },
})
