import type { Size } from '../terminal/session.ts'
import type { Start } from '../start.ts'
import type { UserCommand } from '../../context/userCommands.ts'
import { boardOf, layoutFor, settle } from './board.ts'
import { keymapOf } from '../../../src/boardModel/keymap.ts'
import type { Model } from './model.ts'
import { emptyCache, withColumns, withPage } from '../../../src/boardModel/cardCache.ts'
import { emptyField } from './textField.ts'

/** The settings of this machine's configuration. */
export interface Preferences {
  isDense?: boolean
  hasPreview: boolean
  commands: readonly UserCommand[]
}
const noPreferences: Preferences = { hasPreview: false, commands: [] }

/** The initial model: the board, or the choice of a project if there is no current one. */
export function initialModel(
  { project, projects, boards, boardId, columns, pages, limit, settings, shortcuts }: Start,
  size: Size,
  { isDense, hasPreview, commands } = noPreferences,
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
    redos: [],
    sort: 'board',
    isDense: isDense ?? (settings.density === 'compact' || undefined),
    hasPreview,
    live: 'connecting',
    settings,
    keymap: keymapOf(shortcuts, commands),
    commands,
    projects: projects ?? [],
    agents: [],
    agentProfiles: [],
    pressed: [],
    serial: 1,
    view: { focus: '', cursors: {}, tops: {}, firstColumn: 0, selected: new Set(), filter: '' },
    ...(projects && {
      dialog: { kind: 'pick', purpose: { type: 'project', isFirst: true }, field: emptyField, at: 0 },
    }),
  })
}

/**
 * Returns the time until the frame changes without input: spinners of running agents each second, an expiring notice,
 * ages by minutes.
 */
export function nextTickMs(model: Model): number {
  const toSecond = 1000 - (model.nowMs % 1000)
  const until = (atMs: number | undefined, minMs: number) =>
    atMs === undefined ? Infinity : Math.max(minMs, atMs - model.nowMs)
  const search = model.dialog?.kind === 'pick' && model.dialog.purpose.type === 'go' ? model.dialog.purpose : undefined
  return Math.min(
    60_000,
    isTurning(model) ? toSecond : Infinity,
    until(model.notice?.untilMs, 50),
    until(model.preview?.readAtMs, 10),
    until(search?.searchAtMs, 10),
  )
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
