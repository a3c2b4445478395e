import { Problem } from '../../contract/errors.ts'
import type { CardKind } from '../../contract/fields.ts'
import type { Permission } from '../../contract/route.ts'
import type { CardRow } from '../../store/cards/cards.ts'
import { isPulledFrom } from '../../store/boards/columnTurns.ts'
import type { Reader } from '../../store/engine/database.ts'
import { listProjects } from '../../store/projects/projects.ts'
import { isInScope, roleBy, isSufficient } from '../accounts/access.ts'
import { isAdmin, type Caller } from '../accounts/caller.ts'
import { listTurns } from './cardTurns.ts'

/*
 * Every change that can start an agent calls this module: does the change allow an agent to start, and can this caller start one?
 * For callers with the permission, neither check reads the database.
 */

/** The initiator of a start: a caller, or the board itself, which continues work that an authorized caller started. */
export type Starter = Caller | 'board'

/** The permission with which an API key can start a card: its agent, or the command of a terminal card. */
const permissionFor = (kind: CardKind): Permission => (kind === 'terminal' ? 'scripts.run' : 'agents.run')

/**
 * Whether a caller can start a card's agent or a terminal card's command. Members of the project can, an API key requires the permission,
 * and an agent cannot.
 */
export function mayStart(starter: Starter | undefined, kind: CardKind): boolean {
  if (starter === 'board') return true
  if (!starter || starter.kind === 'agent') return false
  return !starter.key || starter.key.permissions.includes(permissionFor(kind))
}

/** Why a caller cannot start a card of this kind. Undefined if the caller can. */
export function startRefusal(starter: Starter | undefined, kind: CardKind): Problem | undefined {
  if (mayStart(starter, kind)) return undefined
  if (starter === undefined || starter === 'board' || !starter.key)
    return new Problem('FORBIDDEN', 'Only people and API keys can start agents.')
  return new Problem(
    'INSUFFICIENT_PERMISSIONS',
    `The API key lacks the permission ${permissionFor(kind)}, which ${kind === 'terminal' ? 'running a command' : 'starting an agent'} requires.`,
  )
}

/** The fields of a card that decide whether its agent starts automatically. */
type AutomatedCard = Pick<
  CardRow,
  'kind' | 'autoMode' | 'startHeld' | 'status' | 'pullable' | 'columnId' | 'archivedAt'
>

/** Whether a card's agent can start automatically: the card is in auto mode or queued, has a start time, or the next column pulls it. */
const canStartAutomatically = async (db: Reader, card: AutomatedCard): Promise<boolean> =>
  card.autoMode === 1 || card.startHeld === 1 || card.status === 'queued' || isPulled(db, card)

/** Whether the next column pulls a card as soon as the card is ready, or its step is done. */
const isPulled = async (db: Reader, { kind, pullable, archivedAt, columnId }: AutomatedCard): Promise<boolean> =>
  kind === 'kanban' && pullable === 1 && archivedAt === null && isPulledFrom(db, columnId)

/**
 * Requires the permission to start a card's agent if the agent can start automatically. Call it before a change of the task, or one that
 * removes an obstacle.
 * @throws Problem INSUFFICIENT_PERMISSIONS, FORBIDDEN for an agent
 */
export async function requireMayChangeStart(
  db: Reader,
  starter: Starter | undefined,
  card: AutomatedCard,
): Promise<void> {
  const problem = startRefusal(starter, card.kind)
  if (problem && (await canStartAutomatically(db, card))) throw problem
}

/** Requires the permission to approve a card's work if the approval moves the card forward. @throws Problem as `requireMayChangeStart` */
export async function requireMayApprove(db: Reader, starter: Starter | undefined, card: AutomatedCard): Promise<void> {
  const problem = startRefusal(starter, card.kind)
  if (problem && (await isPulled(db, card))) throw problem
}

/**
 * Requires that a caller can check agents: people who can start them in a project, and the server's admins. A key uses a credential of its
 * owner only if the key is for the whole server.
 * @throws Problem FORBIDDEN
 */
export async function requireMayCheckAgents(
  db: Reader,
  caller: Caller,
  { credentialId }: { credentialId: number | null },
): Promise<void> {
  requireMayStart(caller, 'kanban')
  if (credentialId !== null && caller.key && caller.key.scope !== 'server')
    throw new Problem('FORBIDDEN', 'Checking an agent with a credential requires an API key of server scope.')
  if (isAdmin(caller) && !caller.key) return
  const projects = await listProjects(db, caller.userId, isAdmin(caller))
  const worksInProject = projects.some(({ id, organizationId, ...grant }) => {
    const role = isInScope(caller, id, organizationId) ? roleBy(caller, grant) : undefined
    return role !== undefined && isSufficient(role, 'member')
  })
  if (!worksInProject) throw new Problem('FORBIDDEN', 'Only project members and server admins can check agents.')
}

/**
 * Makes a change. If the caller cannot start agents, fails if the change gives a waiting card a place in the next column, because the board
 * would start that card's agent.
 * @throws Problem INSUFFICIENT_PERMISSIONS, FORBIDDEN for an agent
 */
export async function requireNoNewTurn<T>(
  db: Reader,
  starter: Starter | undefined,
  projectId: number,
  change: () => Promise<T>,
): Promise<T> {
  const problem = startRefusal(starter, 'kanban')
  if (!problem) return change()
  const before = await listTurns(db, projectId)
  const changed = await change()
  if (before === undefined) return changed
  for (const [columnId, cardId] of (await listTurns(db, projectId)) ?? [])
    if (before.get(columnId) !== cardId) throw problem
  return changed
}

/** @throws Problem INSUFFICIENT_PERMISSIONS, FORBIDDEN for an agent */
export function requireMayStart(starter: Starter | undefined, kind: CardKind): void {
  const problem = startRefusal(starter, kind)
  if (problem) throw problem
}
