import * as v from 'valibot'
import { ImportedName, IntegerId, ShellCommand } from '../contract/fields.ts'
import * as rules from '../domain/automation/scripts.ts'
import { exportedScripts } from '../store/projects/exports.ts'
import { part, readByProject } from './part.ts'

const Script = v.strictObject({ projectId: IntegerId, name: ImportedName, command: ShellCommand })

/** The scripts of projects, in order. An import does not run them automatically. */
export const scripts = part({
  name: 'scripts',
  schema: Script,
  maxRecords: 100_000,
  read: readByProject(exportedScripts),
  check: (record, known) => {
    known.find('projects', record.projectId, 'projectId')
  },
  write: async (tx, { projectId, name, command }, made) => {
    await rules.create(tx, made.rows.projects.get(projectId)!.id, { name, command })
  },
})
