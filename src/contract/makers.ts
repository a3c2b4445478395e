import * as v from 'valibot'
import { Id } from './fields.ts'

/** The account or key whose permissions apply to automatic work. The name of a deleted account or key is null. */
export const Maker = v.object({
  userId: Id,
  displayName: v.nullable(v.string()),
  keyId: v.nullable(Id),
  keyName: v.nullable(v.string()),
})
