import type { ActivityAction, ActivityValue, FieldChange } from '../../contract/cards/activity.ts'
import type { CardStatus } from '../../contract/fields.ts'
import { planNames, type Assignee } from '../../contract/cards/cardPlan.ts'
import { insertActivity, listActivity, type ActivityRow } from '../../store/cards/activity.ts'
import type { CardRow } from '../../store/cards/cards.ts'
import type { Actor, Reader, Transaction } from '../../store/engine/database.ts'
import { isSideSession } from '../../store/agents/sessionPurposes.ts'
import type { SessionRow } from '../../store/agents/sessions.ts'
import { noAccount, type Caller } from '../accounts/caller.ts'

/** The caller as the author of a card's activity. */
export function actorOf({ kind, userId, displayName, key, agent }: Caller): Actor {
  if (key) return { kind: 'key', id: key.id, name: key.name }
  if (kind === 'agent') return { kind: 'agent', id: agent?.sessionId ?? null, name: displayName }
  return { kind: 'user', id: userId === noAccount ? null : userId, name: displayName }
}

/** Records an event of a card's history, in the transaction of the change. This is the only source of a card's activity. */
export function recordActivity(
  tx: Transaction,
  cardId: number,
  action: ActivityAction,
  changes: readonly FieldChange[] = [],
  actor: Actor = tx.actor,
): void {
  insertActivity(tx, { cardId, at: tx.now, actor, action, changes: JSON.stringify(changes) })
}

type Run = Pick<SessionRow, 'id' | 'cardId' | 'purpose' | 'agent' | 'status'>

/** Records that a run of a card's own session was requested. */
export function recordRunStart(tx: Transaction, { cardId, purpose, agent }: Omit<Run, 'id' | 'status'>): void {
  if (!isSideSession(purpose)) recordActivity(tx, cardId, 'run.started', [{ field: 'agent', from: null, to: agent }])
}

/** Records the end of a run. The author is the run's agent, unless a user or the server ended the run. */
export function recordRunEnd(
  tx: Transaction,
  { id, cardId, purpose, status }: Omit<Run, 'agent'>,
  to: CardStatus,
  name: string,
): void {
  if (isSideSession(purpose)) return
  const isOwn = tx.actor.kind === 'system' && (to === 'completed' || to === 'failed')
  const actor: Actor = isOwn ? { kind: 'agent', id, name } : tx.actor
  recordActivity(tx, cardId, 'run.ended', [{ field: 'status', from: status, to }], actor)
}

/** A page of a card's activity, newest first; `next` is the cursor of the next page. */
export async function list(
  db: Reader,
  cardId: number,
  { cursor, limit }: { cursor?: number; limit: number },
): Promise<{ rows: ActivityRow[]; next: number | undefined }> {
  const rows = await listActivity(db, cardId, { before: cursor, limit: limit + 1 })
  return { rows: rows.slice(0, limit), next: rows.length > limit ? rows[limit - 1]!.id : undefined }
}

const assigneesOf = ({ assignees }: CardRow) => JSON.parse(assignees) as Assignee[]
type Show = (card: CardRow) => ActivityValue
const flag = (name: 'useWorktree' | 'autoMode') => (card: CardRow) => card[name] === 1
const id = (value: number | null) => (value === null ? null : String(value))
/** The fields of a card whose changes are recorded, and how. `null` records only that the field changed. */
const recorded: Partial<Record<keyof CardRow, Show | null>> = {
  columnName: card => card.columnName,
  title: card => card.title,
  prompt: null,
  labels: card => JSON.parse(card.labels) as string[],
  assignees: card => assigneesOf(card).map(each => ('name' in each ? each.name : each.displayName)),
  ...Object.fromEntries(planNames.map(name => [name, (card: CardRow) => card[name]])),
  startAt: card => card.startAt,
  groupId: card => card.groupId,
  useWorktree: flag('useWorktree'),
  autoMode: flag('autoMode'),
  agent: card => card.agent,
  profile: card => card.profile,
  model: card => card.model,
  mode: card => card.mode,
  effort: card => card.effort,
  credentialId: null,
  pipeline: null,
  worktreePath: null,
  mergedInto: card => card.mergedInto,
  base: card => card.base,
  baseCardId: card => id(card.baseCardId),
  parentId: card => id(card.parentId),
  discoveredFromId: card => id(card.discoveredFromId),
  blockedBy: card => (JSON.parse(card.blockedBy ?? '[]') as number[]).map(String),
}
const recordedFields = Object.entries(recorded) as Array<[keyof CardRow, Show | null]>

/** The recorded fields of a card that differ, among the fields in `before`. */
export const changesBetween = (before: CardRow, after: CardRow): FieldChange[] =>
  recordedFields.flatMap(([field, show]) =>
    before[field] === undefined || before[field] === after[field]
      ? []
      : [{ field, from: show ? show(before) : null, to: show ? show(after) : null }],
  )
