import { exportedMembers, exportedOrganizationMembers, exportedTemplates } from '../store/projects/exports.ts'
import { insertTemplate, listTemplates } from '../store/boards/templates.ts'
import { part, readByProject } from './part.ts'
import { OrganizationMember, ProjectMember, Template } from './records.ts'

/**
 * The templates of an organization's members that the exporting account can see. The importing account becomes their owner.
 * Existing templates are not duplicated.
 */
export const templates = part({
  name: 'templates',
  schema: Template,
  maxRecords: 1000,
  isShownAtOnce: true,
  read: async function* (db, { organizationId, exporterId }) {
    if (organizationId !== null) yield (await exportedTemplates(db, organizationId, exporterId)).map(({ json }) => json)
  },
  write: async (tx, { name, columns }, made) => {
    const template = { name, columns: JSON.stringify(columns) }
    made.templates ??= new Set((await listTemplates(tx, made.ownerId)).map(identity))
    if (made.templates.has(identity(template))) return
    made.templates.add(identity(template))
    await insertTemplate(tx, { userId: made.ownerId, ...template })
  },
})

const identity = ({ name, columns }: { name: string; columns: string }) => `${name}\n${columns}`

/** Exported only for information. The managers of the new project or organization decide who gets access. */
export const organizationMembers = part({
  name: 'organizationMembers',
  schema: OrganizationMember,
  maxRecords: 100_000,
  read: async function* (db, { organizationId }) {
    if (organizationId !== null) yield (await exportedOrganizationMembers(db, organizationId)).map(({ json }) => json)
  },
})
export const members = part({
  name: 'members',
  schema: ProjectMember,
  maxRecords: 100_000,
  read: readByProject(exportedMembers),
  check: (record, known) => {
    known.find('projects', record.projectId, 'projectId')
  },
})
