import * as v from 'valibot'
import { Count, Id, queryBoolean, queryRefTo, refTo, text } from '../fields.ts'
import { get, post, user, viewer } from '../route.ts'

export const ImportFormat = v.picklist(
  ['board', 'trello', 'github', 'markdown'],
  'must be board, trello, github or markdown',
)
export type ImportFormat = v.InferOutput<typeof ImportFormat>
/**
 * The result of an import, or of a dry run. `skipped` counts the entries that already are cards of the project, or that occur
 * twice in the file. `organizationId`: the organization that came with the file. `warnings` name the unsupported parts of the
 * file.
 */
export const Imported = v.object({
  dryRun: v.boolean(),
  projectIds: v.array(Id),
  organizationId: v.nullable(Id),
  projects: Count,
  boards: Count,
  columns: Count,
  cards: Count,
  skipped: Count,
  attachments: Count,
  warnings: v.array(v.string()),
})
/**
 * `projectId`: the project that cards are added to; without it, projects are created. `path`: the folder of a new project; if a
 * file contains several projects, the folder of those whose own folder does not exist here. `createFolder`: create that folder if
 * it is missing; its parent must exist. `map`: JSON of the file's list or state names to column names. `withPullRequests`: pull
 * requests among GitHub's issues also become cards.
 */
const Import = v.strictObject({
  format: ImportFormat,
  projectId: v.optional(queryRefTo('PROJECT_NOT_FOUND')),
  organizationId: v.optional(queryRefTo('ORGANIZATION_NOT_FOUND')),
  path: v.optional(text(1, 4096)),
  createFolder: v.optional(queryBoolean, false),
  map: v.optional(v.pipe(v.string(), v.maxLength(4096, 'must have at most 4096 characters'))),
  withPullRequests: v.optional(queryBoolean, false),
  dryRun: v.optional(queryBoolean, false),
})

/** An export is generated for the request, so it supports no ranges. */
const exported = { 200: { description: 'The file', type: 'application/json' } }

export const transfers = {
  exportProject: get('/api/projects/{id}/export', {
    notFound: { id: 'PROJECT_NOT_FOUND' },
    audited: { target: 'project' },
    at: 'machine or here',
    who: viewer('exports.read', 'id'),
    fails: ['CONFLICT'],
    rateLimit: 'transfers',
    summary: 'Export a project as JSON',
    transfer: 'file',
    answers: exported,
  }),
  exportOrganization: post('/api/export', {
    audited: { target: 'organization', id: 'organizationId' },
    who: user,
    fails: ['ORGANIZATION_NOT_FOUND'],
    rateLimit: 'transfers',
    summary: 'Export an organization with its projects as JSON',
    details: 'Without organizationId, the only organization that the caller administers.',
    input: v.optional(v.strictObject({ organizationId: v.optional(refTo('ORGANIZATION_NOT_FOUND')) }), {}),
    transfer: 'file',
    answers: exported,
  }),
  import: post('/api/import', {
    fails: ['PROJECT_NOT_FOUND', 'ORGANIZATION_NOT_FOUND', 'INVALID_IMPORT', 'PATH_NOT_FOUND', 'PATH_NOT_ABSOLUTE'],
    audited: { target: 'project', id: 'projectId', detail: ['format', 'projectIds'] },
    who: user,
    rateLimit: 'transfers',
    summary: 'Import projects from an exported file, as multipart/form-data, field file',
    input: Import,
    query: ['format', 'projectId', 'organizationId', 'path', 'createFolder', 'map', 'withPullRequests', 'dryRun'],
    transfer: 'upload',
    output: Imported,
    idempotent: true,
    status: 201,
    emits: ['project.created', 'board.created', 'column.created', 'card.created', 'attachment.created'],
  }),
}
