import type { Size } from '../terminal/session.ts'
import type { Start } from '../start.ts'
import { boardOf, layoutFor, settle } from './board.ts'
import { keymapOf } from './keymap.ts'
import type { Model } from './model.ts'
import { emptyCache, withColumns, withPage } from './cardCache.ts'

/** The model of the first picture. */
export function initialModel(
  { project, boards, boardId, columns, pages, limit, settings, shortcuts }: Start,
  size: Size,
): Model {
  const cache = columns.reduce(
    (known, { id }, at) => withPage(known, { request: 0, columnId: id, offset: 0, limit, cards: pages[at] ?? [] }),
    withColumns(emptyCache, columns),
  )
  const nowMs = Date.now()
  return settle({
    size,
    nowMs,
    settingsAtMs: nowMs,
    project,
    boards,
    boardId,
    cache,
    moves: [],
    undos: [],
    live: 'connecting',
    settings,
    keymap: keymapOf(shortcuts),
    pressed: [],
    serial: 1,
    view: { focus: '', cursors: {}, tops: {}, firstColumn: 0, selected: new Set(), filter: '' },
  })
}

/** When the picture changes by itself: a running agent's sign turns each second, a notice goes, ages grow by minutes. */
export function nextTickMs(model: Model): number {
  const toSecond = 1000 - (model.nowMs % 1000)
  if (isTurning(model)) return toSecond
  return Math.min(60_000, model.notice ? Math.max(50, model.notice.untilMs - model.nowMs) : Infinity)
}

function isTurning(model: Model): boolean {
  if (model.opened) return model.opened.card?.status === 'running'
  const board = boardOf(model)
  const { first, widths, innerHeight } = layoutFor(model, board)
  return board.columns.slice(first, first + widths.length).some(({ id, found }) => {
    const top = model.view.tops[id] ?? 0
    return found.slice(top, top + innerHeight).some(cardId => board.cards.get(cardId)?.status === 'running')
  })
}
