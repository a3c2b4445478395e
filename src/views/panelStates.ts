import type { PanelStateRow } from '../store/boards/panelStates.ts'

/** Layouts keyed by the card's ID. */
export const panelStates = (rows: readonly PanelStateRow[]): Record<string, unknown> =>
  Object.fromEntries(rows.map(({ cardId, state }) => [String(cardId), JSON.parse(state)]))
