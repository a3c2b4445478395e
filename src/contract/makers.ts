import * as v from 'valibot'
import { Id } from './fields.ts'

/**
 * The account or key whose rights something has that goes on by itself. The name of a deleted account or key is null.
 */
export const Maker = v.object({
  userId: Id,
  displayName: v.nullable(v.string()),
  keyId: v.nullable(Id),
  keyName: v.nullable(v.string()),
})
