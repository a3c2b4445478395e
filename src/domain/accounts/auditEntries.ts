import type { NewAuditRow } from '../../store/server/audit.ts'
import { localOperator } from '../../store/accounts/users.ts'
import type { Caller } from './caller.ts'

type Actor = Pick<NewAuditRow, 'actorKind' | 'actorId' | 'actorName' | 'viaKind' | 'viaId'>

/** Who acts in an entry of the audit log, and by which sign-in, key or session. */
export function auditActor({ kind, userId, email, displayName, agent, key, signInId }: Caller): Actor {
  const text = (id: number | null | undefined) => (id === undefined || id === null ? null : String(id))
  const user = { actorKind: 'user', actorId: userId === localOperator ? null : userId, actorName: email || displayName }
  if (kind === 'key') return { ...user, viaKind: 'key', viaId: text(key!.id) }
  if (kind === 'local') return { ...user, viaKind: 'local', viaId: null }
  if (kind === 'user') return { ...user, viaKind: 'sign-in', viaId: text(signInId) }
  const { cardId, sessionId } = agent!
  return {
    actorKind: 'agent',
    actorId: cardId,
    actorName: `agent of card ${cardId}`,
    viaKind: 'agent',
    viaId: text(sessionId),
  }
}

/** An entry about a step that a caller takes within another request. */
export const byCaller = (
  action: string,
  caller: Caller,
  target: { kind: string; id: string | number },
  detail: Record<string, string>,
): NewAuditRow => ({
  outcome: 'ok',
  action,
  ...auditActor(caller),
  targetKind: target.kind,
  targetId: String(target.id),
  address: null,
  detail: JSON.stringify(detail),
})
