import { expect, test } from 'vitest'
import { referencesOf } from '../../src/contract/references.ts'
import type { Route } from '../../src/contract/route.ts'
import { rows } from '../support/contract/examples.ts'

/** Fields with the name of an id that refer to no row. */
const noRows = new Set(['groupId', 'copyId', 'clientId', 'requestId', 'optionId'])

const fieldsOf = ({ input }: Route): string[] =>
  Object.keys((input as { entries?: Record<string, unknown> } | undefined)?.entries ?? {})

test('every field of a write that names a row reports a missing row', () => {
  const undeclared = rows
    .filter(({ route }) => route.method !== 'GET')
    .flatMap(({ name, route }) =>
      fieldsOf(route)
        .filter(field => field.endsWith('Id') && !noRows.has(field) && !(field in referencesOf(route)))
        .map(field => `${name}: ${field}`),
    )
  expect(undeclared).toEqual([])
})

test.each([
  ['cards.move', { projectId: 'PROJECT_NOT_FOUND', cardId: 'CARD_NOT_FOUND', columnId: 'COLUMN_NOT_FOUND' }],
  ['external.move', { projectId: 'PROJECT_NOT_FOUND', cardId: 'CARD_NOT_FOUND', targetColumnId: 'COLUMN_NOT_FOUND' }],
  ['boards.create', { projectId: 'PROJECT_NOT_FOUND', templateId: 'TEMPLATE_NOT_FOUND' }],
  ['organizations.setCredential', { orgId: 'ORGANIZATION_NOT_FOUND', credentialId: 'CREDENTIAL_NOT_FOUND' }],
  ['projects.update', { id: 'PROJECT_NOT_FOUND', organizationId: 'ORGANIZATION_NOT_FOUND' }],
])('%s names its rows', (name, references) => {
  expect(referencesOf(rows.find(row => row.name === name)!.route)).toEqual(references)
})
