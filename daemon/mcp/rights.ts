import type { Who } from '../../src/contract/route.ts'
import { keyPermissionsOf } from '../../src/contract/route.ts'
import { isSufficient } from '../../src/domain/accounts/access.ts'
import type { Caller } from '../../src/domain/accounts/caller.ts'
import { strongestRole } from '../../src/domain/projects/projects.ts'
import type { Reader } from '../../src/store/engine/database.ts'

/**
 * Returns whether the caller can use a row in at least one project. Each call is then authorized for its project. A key
 * needs the permission, and its owner needs the role within the key's scope.
 */
export async function rightsOf(db: Reader, caller: Caller): Promise<(who: Who) => boolean> {
  const role = await strongestRole(db, caller)
  return who => {
    if (caller.key && !keyPermissionsOf(who).some(each => caller.key!.permissions.includes(each))) return false
    if (who.kind === 'member') return role !== undefined && isSufficient(role, who.role)
    return who.kind === 'user'
  }
}
