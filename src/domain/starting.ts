import { Problem } from '../contract/errors.ts'
import type { CardKind } from '../contract/fields.ts'
import type { Permission } from '../contract/route.ts'
import type { Caller } from './caller.ts'

/** Who starts something: a caller, or the board itself, which continues work that an authorized caller started. */
export type Starter = Caller | 'board'

/** The permission with which an API key may start a card: its agent, or the command of a terminal card. */
const permissionFor = (kind: CardKind): Permission => (kind === 'terminal' ? 'scripts.run' : 'agents.run')

/**
 * Whether somebody may start a card's agent or a terminal card's command. Members of the project may; an API key needs
 * the permission; an agent may not.
 */
export function mayStart(starter: Starter | undefined, kind: CardKind): boolean {
  if (starter === 'board') return true
  if (!starter || starter.kind === 'agent') return false
  return !starter.key || starter.key.permissions.includes(permissionFor(kind))
}

/** Why somebody may not start a card of this kind; undefined if they may. */
export function refusal(starter: Starter | undefined, kind: CardKind): Problem | undefined {
  if (mayStart(starter, kind)) return undefined
  if (starter === undefined || starter === 'board' || !starter.key)
    return new Problem('FORBIDDEN', 'Only people and API keys start agents.')
  return new Problem(
    'INSUFFICIENT_PERMISSIONS',
    `The API key lacks the permission ${permissionFor(kind)}, which ${kind === 'terminal' ? 'running a command' : 'starting an agent'} needs.`,
  )
}

/** @throws Problem INSUFFICIENT_PERMISSIONS, FORBIDDEN for an agent */
export function requireMayStart(starter: Starter | undefined, kind: CardKind): void {
  const problem = refusal(starter, kind)
  if (problem) throw problem
}
