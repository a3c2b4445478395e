import * as v from 'valibot'
import type { ForgeAddress } from '../forge.ts'
import { Body, Count, Moment, Name } from '../forgeFields.ts'

export const User = v.object({ id: Count, username: Name })
export const Author = v.pipe(
  v.nullish(v.object({ username: Name }), null),
  v.transform(user => user?.username ?? 'ghost'),
)
/** A note of an issue or a merge request. */
export const Note = v.object({
  id: Count,
  author: Author,
  body: Body,
  system: v.optional(v.boolean(), false),
  created_at: Moment,
  updated_at: Moment,
})
export type Note = v.InferOutput<typeof Note>

/** A project by its name with all groups. */
export const projectPath = ({ repository }: Pick<ForgeAddress, 'repository'>): string =>
  `/projects/${encodeURIComponent(repository)}`
