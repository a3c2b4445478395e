import * as v from 'valibot'
import { Body, Count, Moment, Name } from '../forgeFields.ts'

/** What a page of lists holds at most where nobody has changed the settings. */
export const pageSize = 50

/** Of a deleted account only a name is left, or nothing. */
export const Author = v.pipe(
  v.nullish(v.object({ login: Name }), null),
  v.transform(user => user?.login || 'ghost'),
)
export const Comment = v.object({ id: Count, user: Author, body: Body, created_at: Moment, updated_at: Moment })
export type Comment = v.InferOutput<typeof Comment>
