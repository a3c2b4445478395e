import * as v from 'valibot'
import { Body, Count, Moment, Name } from '../forgeFields.ts'

/** The default maximum page size of lists. */
export const pageSize = 50

/** A deleted account has only a name, or nothing. */
export const Author = v.pipe(
  v.nullish(v.object({ login: Name }), null),
  v.transform(user => user?.login || 'ghost'),
)
export const Comment = v.object({ id: Count, user: Author, body: Body, created_at: Moment, updated_at: Moment })
export type Comment = v.InferOutput<typeof Comment>
