import * as v from 'valibot'
import { Id, text } from './fields.ts'
import { get, user } from './route.ts'

export const users = {
  search: get('/api/users/search', { who: user, summary: 'Find users by name or email', input: v.strictObject({ q: text(1, 200) }), output: v.array(v.object({ id: Id, email: v.string(), displayName: v.string() })) }),
}
