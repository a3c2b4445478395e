import { Problem, type NotFoundCode } from '../../contract/errors.ts'
import { referencesOf } from '../../contract/references.ts'
import type { Route } from '../../contract/route.ts'
import type { Reader } from '../../store/engine/database.ts'
import { firstMissing, type Named } from '../../store/engine/firstMissing.ts'
import { localOperator } from '../../store/accounts/users.ts'
import type { Caller } from './caller.ts'

/** The table of a referenced record. Records without their own table share the table of their parent. */
const tables: Partial<Record<NotFoundCode, Named>> = {
  ORGANIZATION_NOT_FOUND: 'organization',
  PROJECT_NOT_FOUND: 'project',
  BOARD_NOT_FOUND: 'board',
  COLUMN_NOT_FOUND: 'column',
  CARD_NOT_FOUND: 'card',
  PANEL_STATE_NOT_FOUND: 'card',
  SESSION_NOT_FOUND: 'session',
  PRE_SESSION_NOT_FOUND: 'session',
  ATTACHMENT_NOT_FOUND: 'attachment',
  MONITOR_NOT_FOUND: 'monitor',
  SCRIPT_NOT_FOUND: 'script',
  GATE_NOT_FOUND: 'gate',
  PROOF_NOT_FOUND: 'proof',
  COMMENT_NOT_FOUND: 'comment',
  SCHEDULE_NOT_FOUND: 'schedule',
  REVIEW_NOT_FOUND: 'review',
  WEBHOOK_NOT_FOUND: 'webhook',
  TEMPLATE_NOT_FOUND: 'template',
  CREDENTIAL_NOT_FOUND: 'credential',
  USER_NOT_FOUND: 'user',
  MEMBER_NOT_FOUND: 'user',
}

/**
 * Returns the problem that explains a foreign key violation of a write. It names the outermost record of the request that was deleted in
 * the meantime, otherwise the caller's account.
 * @param input the request's path parameters and fields after validation
 */
export async function explainMissing(
  db: Reader,
  caller: Caller | undefined,
  route: Route,
  input: Readonly<Record<string, unknown>>,
  cause: unknown,
): Promise<Problem> {
  const named: Partial<Record<Named, number[]>> = {}
  const codes: Partial<Record<Named, NotFoundCode>> = {}
  for (const [field, code] of Object.entries(referencesOf(route))) {
    const table = tables[code]
    const id = Number(input[field])
    if (!table || !Number.isSafeInteger(id) || id <= 0) continue
    named[table] = [...(named[table] ?? []), id]
    codes[table] = code
  }
  const missing = await firstMissing(db, named)
  if (missing) return new Problem(codes[missing]!, undefined, { cause })
  if (caller && caller.userId > localOperator && (await firstMissing(db, { user: [caller.userId] })))
    return new Problem('UNAUTHENTICATED', 'Your account was deleted.', { cause })
  return new Problem('NOT_FOUND', 'A record that this request requires was deleted in the meantime.', { cause })
}
