import { invalid, Problem } from '../../contract/errors.ts'
import type { Transaction } from '../../store/engine/database.ts'
import {
  deletePanelState,
  findCardIds,
  listPanelStates,
  writePanelState,
  type PanelStateRow,
} from '../../store/boards/panelStates.ts'

export interface PanelOwner {
  userId: number
  projectId: number
}

/**
 * Replaces the layouts of the named cards and returns all layouts of the project.
 * @throws Problem VALIDATION_FAILED, naming the key that is not a card of the project
 */
export async function set(
  tx: Transaction,
  { userId, projectId }: PanelOwner,
  states: Record<string, unknown>,
): Promise<PanelStateRow[]> {
  const keys = Object.keys(states)
  const cards = await findCardIds(tx, projectId, keys.filter(isId).map(Number))
  const stranger = keys.find(key => !isId(key) || !cards.has(Number(key)))
  if (stranger !== undefined) throw invalid(stranger.slice(0, 100), 'must be the ID of a card in this project')
  for (const key of keys)
    await writePanelState(tx, userId, projectId, { cardId: Number(key), state: JSON.stringify(states[key]) })
  return listPanelStates(tx, userId, projectId)
}

/** Deletes a card's layout. @throws Problem PANEL_STATE_NOT_FOUND */
export async function remove(tx: Transaction, { userId, projectId }: PanelOwner, cardId: number): Promise<void> {
  if (!(await deletePanelState(tx, userId, projectId, cardId))) throw new Problem('PANEL_STATE_NOT_FOUND')
}

const isId = (key: string) => /^[1-9]\d{0,14}$/.test(key)
