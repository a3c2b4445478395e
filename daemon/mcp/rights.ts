import type { Who } from '../../src/contract/route.ts'
import { keyPermissionsOf } from '../../src/contract/route.ts'
import { suffices } from '../../src/domain/access.ts'
import type { Caller } from '../../src/domain/caller.ts'
import { strongestRole } from '../../src/domain/projects.ts'
import type { Reader } from '../../src/store/database.ts'

/**
 * Whether there is a project in which the caller may use a row. Which one it is, each call says: it is authorized by itself.
 * A key needs the permission, and its owner the role within the key's scope.
 */
export async function rightsOf(db: Reader, caller: Caller): Promise<(who: Who) => boolean> {
  const role = await strongestRole(db, caller)
  return who => {
    if (caller.key && !keyPermissionsOf(who).some(each => caller.key!.permissions.includes(each))) return false
    if (who.kind === 'member') return role !== undefined && suffices(role, who.role)
    return who.kind === 'user'
  }
}
