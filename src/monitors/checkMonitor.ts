import type { Caller } from '../domain/accounts/caller.ts'
import { requireFields, requireKnown } from '../domain/automation/monitorFields.ts'
import { permissionFor } from '../domain/automation/monitorQuestions.ts'
import { requireActive, type CheckedMonitor } from '../domain/automation/monitors.ts'
import type { CardRef } from '../domain/cards/cards.ts'
import * as projects from '../domain/projects/projects.ts'
import type { Reader } from '../store/engine/database.ts'
import { requireCardFolder, workingFolder } from './monitorFolders.ts'

/**
 * Validates a new monitor, except for the limit per card: the card, then the fields.
 * @throws Problem in this order: CARD_NOT_FOUND, MONITOR_TERMINAL_CARD_UNSUPPORTED, MONITOR_CARD_INACTIVE, those of
 *   `requireFields`, MONITOR_CWD_INVALID, MONITOR_CWD_OUTSIDE_CARD, VALIDATION_FAILED for an unknown field, FORBIDDEN
 */
export async function checkMonitor(
  db: Reader,
  ref: CardRef,
  fields: Record<string, unknown>,
  caller: Caller,
): Promise<CheckedMonitor> {
  const card = await requireActive(db, ref)
  const { cwd, ...monitor } = requireFields(fields)
  const project = await projects.find(db, ref.projectId)
  const folder = cwd ?? (await workingFolder(card, project))
  await requireCardFolder(db, folder, card, project)
  requireKnown(fields)
  // Tokens minted for people have no session.
  const sessionId = caller.agent?.sessionId ?? null
  const permission = await permissionFor(db, caller, ref.projectId)
  return {
    projectId: ref.projectId,
    cardId: card.id,
    cwd: folder,
    byAgent: sessionId !== null,
    permission,
    sessionId,
    ...monitor,
  }
}
