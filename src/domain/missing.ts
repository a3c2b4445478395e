import { Problem, type ErrorCode } from '../contract/errors.ts'
import type { Route } from '../contract/route.ts'
import type { Reader } from '../store/database.ts'
import { firstMissing, type Named } from '../store/missing.ts'
import { localOperator } from '../store/users.ts'
import type { Caller } from './caller.ts'

const codes: Record<Named, ErrorCode> = {
  organization: 'ORGANIZATION_NOT_FOUND',
  project: 'PROJECT_NOT_FOUND',
  board: 'BOARD_NOT_FOUND',
  column: 'COLUMN_NOT_FOUND',
  card: 'CARD_NOT_FOUND',
  session: 'SESSION_NOT_FOUND',
  attachment: 'ATTACHMENT_NOT_FOUND',
  monitor: 'MONITOR_NOT_FOUND',
  script: 'SCRIPT_NOT_FOUND',
  webhook: 'WEBHOOK_NOT_FOUND',
  template: 'TEMPLATE_NOT_FOUND',
  credential: 'CREDENTIAL_NOT_FOUND',
  user: 'USER_NOT_FOUND',
}
/** Fields that are not called like what they name. */
const others: Record<string, Named> = { orgId: 'organization', targetColumnId: 'column' }

/**
 * Why a write that others outran could not be made: the outermost thing that the request names and that was deleted since it was
 * looked at, else the account that asks.
 * @param input the request's path parameters and fields after validation
 */
export async function explainMissing(
  db: Reader,
  caller: Caller | undefined,
  { path }: Route,
  input: Readonly<Record<string, unknown>>,
  cause: unknown,
): Promise<Problem> {
  const named: Partial<Record<Named, number[]>> = {}
  for (const [field, value] of Object.entries(input)) {
    const kind = kindOf(path, field)
    const id = Number(value)
    if (kind && Number.isSafeInteger(id) && id > 0) named[kind] = [...(named[kind] ?? []), id]
  }
  const kind = await firstMissing(db, named)
  if (kind) return new Problem(codes[kind], undefined, { cause })
  if (caller && caller.userId > localOperator && (await firstMissing(db, { user: [caller.userId] })))
    return new Problem('UNAUTHENTICATED', 'Your account is gone.', { cause })
  return new Problem('NOT_FOUND', 'Something that this needs was deleted meanwhile.', { cause })
}

/** What a field's id names: `cardId` a card, `id` what stands before it in the path. */
function kindOf(path: string, field: string): Named | undefined {
  const name = field === 'id' ? /\/(\w+)s\/\{id\}/.exec(path)?.[1] : (others[field] ?? /^(\w+)Id$/.exec(field)?.[1])
  return name !== undefined && Object.hasOwn(codes, name) ? (name as Named) : undefined
}
