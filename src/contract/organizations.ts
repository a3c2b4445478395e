import * as v from 'valibot'
import { Id, Name, Time } from './fields.ts'
import { del, get, patch, post, user } from './route.ts'

export const Organization = v.object({ id: Id, name: Name, role: v.picklist(['admin', 'member']), createdAt: Time })

export const organizations = {
  create: post('/api/organizations', { who: user, summary: 'Create an organization; its creator is its admin', input: v.strictObject({ name: Name }), output: Organization, status: 201 }),
  list: get('/api/organizations', { who: user, summary: 'List the caller\'s organizations', output: v.array(Organization) }),
  get: get('/api/organizations/{id}', { who: user, summary: 'Read an organization', output: Organization }),
  update: patch('/api/organizations/{id}', { who: user, summary: 'Rename an organization', input: v.strictObject({ name: v.optional(Name) }), output: Organization }),
  delete: del('/api/organizations/{id}', { who: user, summary: 'Delete an organization without projects' }),
}
