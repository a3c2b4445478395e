import type { LiveMessage } from '../../../src/client/socket.ts'
import type { EventData } from '../../../src/contract/events.ts'
import type { Key } from '../terminal/keys.ts'
import { boardOf, focusedColumn, settle } from './board.ts'
import { runAction, lastTop, runUserCommand } from './cardKeys.ts'
import { updateDialog } from './dialogs.ts'
import { toCard, withBoard, withProject } from './goTo.ts'
import { bindingOf } from './keymap.ts'
import { onMouse } from './mouse.ts'
import { searchWhenDue } from './pickKeys.ts'
import { followCursor, onPreviewed } from './preview.ts'
import { withNotice, updated, type Cmd, type Model, type Msg, type Update } from './model.ts'
import { merged, messagesAtOnce, withLiveEvents, withRead } from './opened.ts'
import { readSettings, settingsPollMs, minSettingsAgeOnReturnMs, withSettings } from './settings.ts'
import { textIn } from './textField.ts'
import { asStale, withColumns, withEvents, withPage, type Page } from './cardCache.ts'

const firstPage = 100
const laterPage = 1000

/** What follows from a message: the next model, and what is to be done outside of it. */
export function update(model: Model, msg: Msg): Update {
  const { model: next, cmds } = apply(model, msg)
  const settled = settle(next)
  const all: Cmd[] = [...cmds]
  const after = [readNextPage, (now: Model) => markViewed(model, now), followCursor].reduce((now, follow) => {
    const { model: following, cmds: more } = follow(now)
    all.push(...more)
    return following
  }, settled)
  return { model: after, cmds: all }
}

/** A card that is looked at is read, and so is its diff while that is looked at. */
function markViewed({ opened: before }: Model, model: Model): Update {
  const { opened } = model
  if (!opened?.card) return updated(model)
  const viewed: Cmd[] =
    opened.card.unread && before?.card?.version !== opened.card.version
      ? [{ type: 'viewed', cardId: opened.cardId }]
      : []
  if (opened.tab !== 'diff' || !opened.isDiffStale || opened.isDiffComing) return updated(model, ...viewed)
  return updated({ ...model, opened: { ...opened, isDiffStale: false, isDiffComing: true } }, ...viewed, {
    type: 'diff',
    cardId: opened.cardId,
  })
}

function apply(model: Model, msg: Msg): Update {
  switch (msg.type) {
    case 'key':
      return onKey(model, msg.key)
    case 'mouse':
      return onMouse({ ...model, pressed: [] }, msg.mouse)
    case 'resized':
      return updated({ ...model, size: msg.size, drag: undefined })
    case 'tick':
      return onTick(model)
    case 'returned':
      return readSettings(model, minSettingsAgeOnReturnMs)
    case 'settings':
      return updated(withSettings(model, msg))
    case 'events':
      return onEvents(
        model,
        msg.events.filter(({ projectId }) => projectId === null || projectId === model.project.id),
      )
    case 'projects':
      return updated({ ...model, projects: msg.projects })
    case 'agents':
      return updated({ ...model, agents: msg.agents })
    case 'hits':
      return updated(onHits(model, msg))
    case 'previewed':
      return updated(onPreviewed(model, msg))
    case 'subscribed':
      return updated(
        { ...model, reading: undefined, cache: asStale(model.cache) },
        { type: 'columns' },
        ...(model.opened ? [{ type: 'open' as const, cardId: model.opened.cardId }] : []),
      )
    case 'live':
      return msg.state === 'open' && model.live === 'waiting'
        ? readSettings({ ...model, live: msg.state }, minSettingsAgeOnReturnMs)
        : updated({ ...model, live: msg.state })
    case 'columns':
      return updated(onColumns(model, msg))
    case 'page':
      return onPage(model, msg.page)
    case 'moved':
      return updated({
        ...(msg.notStarted ? withNotice(model, msg.notStarted) : model),
        moves: model.moves.map(move => (move.id === msg.moveId ? { ...move, doneVersion: msg.version } : move)),
      })
    case 'refused':
      return onRefused(model, msg)
    case 'said':
      return updated(withNotice(model, msg.text))
    case 'created':
      return updated({ ...model, view: { ...model.view, filter: '', wanted: msg.cardId } })
    case 'found':
      return onFound(model, msg)
    case 'question':
      return updated(onQuestion(model, msg))
    default:
      return onCardRead(model, msg)
  }
}

function onTick(model: Model): Update {
  const notice = model.notice && model.notice.untilMs > model.nowMs ? model.notice : undefined
  const searching = searchWhenDue({ ...model, notice })
  const { model: next, cmds } = readSettings(searching.model, settingsPollMs)
  return updated(next, ...searching.cmds, ...cmds)
}

/** Cards that were found, unless something else has been typed meanwhile. */
function onHits(model: Model, { text, hits }: Extract<Msg, { type: 'hits' }>): Model {
  const { dialog } = model
  if (dialog?.kind !== 'pick' || dialog.purpose.type !== 'go' || textIn(dialog.field).trim() !== text) return model
  const cards = hits.filter(({ type, archived }) => type === 'card' && !archived)
  return { ...model, dialog: { ...dialog, purpose: { ...dialog.purpose, hits: cards } } }
}

/** A card that could not move is where it was, and the cursor is on it. */
function onRefused(model: Model, { moveId, text }: Extract<Msg, { type: 'refused' }>): Update {
  const move = model.moves.find(({ id }) => id === moveId)
  const moves = model.moves.filter(each => each !== move)
  const opened = model.opened?.card ? model.opened : undefined
  return updated(
    withNotice(
      { ...model, moves, opened, view: move ? { ...model.view, wanted: move.cardId } : model.view },
      text,
      true,
    ),
  )
}

function onKey(model: Model, key: Key): Update {
  if (key.name === 'ctrl+z') return updated(model, { type: 'stop' })
  if (key.name === 'ctrl+l') return updated(model, { type: 'redraw' })
  if (model.dialog) return updateDialog(model, model.dialog, key)
  if (key.name === 'ctrl+c') return updated(model, { type: 'interrupt' })
  // Who presses a key goes where that leads, not where a card that was waited for appears.
  if (model.view.wanted !== undefined) return onKey({ ...model, view: { ...model.view, wanted: undefined } }, key)
  const pressed = [...model.pressed, key.name]
  const binding = bindingOf(model.keymap, pressed)
  if (binding === 'more') return updated({ ...model, pressed })
  const idle = { ...model, pressed: [], drag: undefined }
  if (binding) return typeof binding === 'string' ? runAction(idle, binding) : runUserCommand(idle, binding)
  return model.pressed.length > 0 ? onKey(idle, key) : updated(idle)
}

/** The board's columns; of another board when this one is gone. */
function onColumns(model: Model, { projectId, boards, boardId, columns }: Extract<Msg, { type: 'columns' }>): Model {
  if (projectId !== undefined && projectId !== model.project.id) return model
  if (boardId !== model.boardId && boards.some(({ id }) => id === model.boardId)) return { ...model, boards }
  const here = boardId === model.boardId ? model : withOtherBoard(model, boardId)
  return {
    ...here,
    boards,
    cache: withColumns(here.cache, columns),
    reading: here.reading && { ...here.reading, before: withColumns(here.reading.before, columns) },
  }
}

/** Of a project that has just been chosen the first board is shown; another one than before, because that is gone. */
const withOtherBoard = (model: Model, boardId: string): Model => {
  const { focus, wanted } = model.view
  return model.boardId === ''
    ? { ...model, boardId, view: { ...model.view, focus, wanted } }
    : withNotice(withBoard(model, boardId), 'The board was deleted.', true)
}

const aboutBoards = /^(board|column)\./

function onEvents(model: Model, events: readonly LiveMessage[]): Update {
  if (events.some(({ type }) => type === 'resync')) return apply(model, { type: 'subscribed' })
  const reading = model.reading && { ...model.reading, events: [...model.reading.events, ...events] }
  const project = events.reduce(
    (known, { type, data }) =>
      type === 'project.updated' ? { ...known, name: (data as EventData<'project.updated'>).name } : known,
    model.project,
  )
  const next = {
    ...model,
    project,
    reading,
    cache: withEvents(model.cache, events),
    opened: model.opened && withLiveEvents(model.opened, events),
    preview: model.preview && { ...withLiveEvents(model.preview, events), readAtMs: model.preview.readAtMs },
  }
  const cmds: Cmd[] = events.some(({ type }) => aboutBoards.test(type)) ? [{ type: 'columns' }] : []
  if (events.some(({ type }) => type === 'project.deleted'))
    return updated(withNotice(next, 'The project was deleted.', true))
  const isGone = events.some(
    ({ type, data }) => type === 'card.deleted' && (data as { id: string }).id === model.opened?.cardId,
  )
  return updated(isGone ? withNotice({ ...next, opened: undefined }, 'The card was deleted.', true) : next, ...cmds)
}

/** Asks for the next page: the columns' beginnings before their rests, the focused column first. */
function readNextPage(model: Model): Update {
  if (model.reading) return updated(model)
  const open = model.cache.columns.filter(({ isWhole }) => !isWhole)
  const focus = focusedColumn(boardOf(model), model.view)?.id
  const unread = open.filter(({ read }) => read === 0)
  const from = unread.length > 0 ? unread : open
  const next = from.find(({ id }) => id === focus) ?? from[0]
  if (!next) return updated(model)
  const page = {
    request: model.serial,
    columnId: next.id,
    offset: Math.max(0, next.read - 1),
    limit: next.ids.length === 0 ? firstPage : laterPage,
  }
  return updated(
    { ...model, serial: model.serial + 1, reading: { request: page.request, before: model.cache, events: [] } },
    { type: 'page', ...page },
  )
}

/** A page is put to what was known when it was asked for; then comes again what was told since. */
function onPage(model: Model, page: Page): Update {
  const { reading } = model
  if (reading?.request !== page.request) return updated(model)
  return updated({ ...model, reading: undefined, cache: withEvents(withPage(reading.before, page), reading.events) })
}

/** What the agent asks, unless it has been answered meanwhile. */
function onQuestion(model: Model, { cardId, requestId, text }: Extract<Msg, { type: 'question' }>): Model {
  const { dialog } = model
  return dialog?.kind === 'approve' && dialog.cardId === cardId
    ? { ...model, dialog: { ...dialog, question: text, requestId } }
    : model
}

function onFound(model: Model, { card, project }: Extract<Msg, { type: 'found' }>): Update {
  if (card.position === null)
    return updated(
      withNotice(model, `Card ${card.id} is ${card.archivedAt === null ? 'not on a board' : 'archived'}.`, true),
    )
  if (project && project.id !== model.project.id) {
    const there = { ...withProject(model, project), boardId: card.boardId }
    return updated({ ...there, view: { ...there.view, focus: card.columnId, wanted: card.id } }, { type: 'columns' })
  }
  const home = { ...model, view: { ...model.view, filter: '', wanted: card.id } }
  if (card.boardId === model.boardId)
    return boardOf(home).columns.some(({ ids }) => ids.includes(card.id))
      ? toCard(home, card.id)
      : updated({ ...home, view: { ...home.view, focus: card.columnId } })
  const other = withBoard(model, card.boardId)
  return updated({ ...other, view: { ...other.view, focus: card.columnId, wanted: card.id } }, { type: 'columns' })
}

function onCardRead(model: Model, msg: Extract<Msg, { type: 'opened' | 'older' | 'diffed' }>): Update {
  const { opened } = model
  if (!opened || opened.cardId !== (msg.type === 'opened' ? msg.card.id : msg.cardId)) return updated(model)
  if (msg.type === 'opened')
    return updated({
      ...model,
      opened: withRead(opened, { card: msg.card, sessions: msg.sessions, messages: msg.messages }),
    })
  if (msg.type === 'diffed') return updated({ ...model, opened: { ...opened, diff: msg.diff, isDiffComing: false } })
  const more = {
    ...opened,
    messages: merged(opened.messages, msg.messages),
    older: msg.messages.length < messagesAtOnce ? ('none' as const) : ('maybe' as const),
  }
  // What is seen stays where it is.
  const added = lastTop(model, more) - lastTop(model, opened)
  return updated({ ...model, opened: { ...more, tops: { ...more.tops, transcript: opened.tops.transcript + added } } })
}
