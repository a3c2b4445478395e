import type { ShownBoard } from '../../../src/boardModel/shownBoard.ts'
import { Store } from '../app/store.ts'

interface CursorState {
  columnId?: string
  /** Column ID -> the card in the column that Tab and the arrow keys focus. */
  cards: Readonly<Record<string, string>>
  /** A card that receives the focus after it is rendered. */
  wanted?: string
}

/** Where the keys work. The card under the cursor has the page's focus, and keeps it when it moves. */
export class Cursor {
  readonly state = new Store<CursorState>({ cards: {} })
  readonly #shown: () => ShownBoard
  readonly #cardsFrom: (columnId: string) => readonly string[]
  /** The focused card, and its position. */
  #held: { columnId: string; cardId: string; at: number } | undefined

  /** @param cardsFrom - returns the cards that the keys go through from a column */
  constructor(shown: () => ShownBoard, cardsFrom: (columnId: string) => readonly string[]) {
    this.#shown = shown
    this.#cardsFrom = cardsFrom
  }

  get columnId(): string | undefined {
    return this.state.get().columnId
  }

  /** The card that has the focus, or had it last. */
  get cardId(): string | undefined {
    const { columnId } = this.state.get()
    return columnId === undefined ? undefined : this.inColumn(columnId)
  }

  /** The card of a column that tab comes to. */
  inColumn(columnId: string): string | undefined {
    const found = this.#cardsFrom(columnId)
    const kept = this.state.get().cards[columnId]
    return kept !== undefined && found.includes(kept) ? kept : found[0]
  }

  /** A card has got the focus. */
  onFocus(columnId: string, cardId: string): void {
    this.#held = { columnId, cardId, at: this.#cardsFrom(columnId).indexOf(cardId) }
    const { columnId: before, cards, wanted } = this.state.get()
    if (before === columnId && cards[columnId] === cardId && wanted !== cardId) return
    this.state.set({ columnId, cards: { ...cards, [columnId]: cardId } })
  }

  /** Focuses a card at its current place. */
  focusCard(cardId: string): void {
    const column = this.#shown().columns.find(({ found }) => found.includes(cardId))
    if (column)
      this.state.update(({ cards }) => ({
        columnId: column.id,
        cards: { ...cards, [column.id]: cardId },
        wanted: cardId,
      }))
  }

  /** Only the column, if it has no cards. */
  enterColumn(columnId: string): void {
    const cardId = this.inColumn(columnId)
    if (cardId !== undefined) return this.focusCard(cardId)
    this.state.update(state => ({ ...state, columnId }))
    document.querySelector<HTMLElement>(`[data-column="${columnId}"] .column-end button`)?.focus()
  }

  /** Something else has the focus. */
  release(): void {
    this.#held = undefined
  }

  /** After a render, restores the focus to the focused card, or to its neighbor if the card was removed. */
  restoreFocus(): void {
    const held = this.#held
    if (!held || document.activeElement !== document.body) return
    if (this.#shown().columns.some(({ found }) => found.includes(held.cardId))) return this.focusCard(held.cardId)
    const found = this.#cardsFrom(held.columnId)
    const next = found[Math.max(0, Math.min(held.at, found.length - 1))]
    if (next === undefined) this.enterColumn(held.columnId)
    else this.focusCard(next)
  }
}
