import type { LiveMessage } from '../../../src/client/socket.ts'
import type { EventData } from '../../../src/contract/events.ts'
import type { Key } from '../terminal/keys.ts'
import { boardOf, focusedColumn, settle } from './board.ts'
import { act, lastTop } from './cardKeys.ts'
import { inDialog } from './dialogs.ts'
import { toCard, withBoard } from './jump.ts'
import { actionOf } from './keymap.ts'
import { say, stay, type Effect, type Model, type News, type Step } from './model.ts'
import { merged, messagesAtOnce, withNews, withRead } from './opened.ts'
import { readSettings, settingsEveryMs, settingsOnReturnMs, withSettings } from './settings.ts'
import { asStale, withColumns, withEvents, withPage, type Page } from './shelf.ts'

const firstPage = 100
const laterPage = 1000

/** What follows from news: the next model, and what is to be done outside of it. */
export function update(model: Model, news: News): Step {
  const { model: next, effects } = take(model, news)
  const settled = settle(next)
  const reading = settled.reading ? stay(settled) : readOn(settled)
  const looking = lookAfter(model, reading.model)
  return { model: looking.model, effects: [...effects, ...reading.effects, ...looking.effects] }
}

/** A card that is looked at is read, and so is its diff while that is looked at. */
function lookAfter({ opened: before }: Model, model: Model): Step {
  const { opened } = model
  if (!opened?.card) return stay(model)
  const viewed: Effect[] =
    opened.card.unread && before?.card?.version !== opened.card.version
      ? [{ type: 'viewed', cardId: opened.cardId }]
      : []
  if (opened.tab !== 'diff' || !opened.isDiffStale || opened.isDiffComing) return stay(model, ...viewed)
  return stay({ ...model, opened: { ...opened, isDiffStale: false, isDiffComing: true } }, ...viewed, {
    type: 'diff',
    cardId: opened.cardId,
  })
}

function take(model: Model, news: News): Step {
  switch (news.type) {
    case 'key':
      return onKey(model, news.key)
    case 'resized':
      return stay({ ...model, size: news.size })
    case 'tick':
      return readSettings(
        { ...model, notice: model.notice && model.notice.untilMs > model.nowMs ? model.notice : undefined },
        settingsEveryMs,
      )
    case 'returned':
      return readSettings(model, settingsOnReturnMs)
    case 'settings':
      return stay(withSettings(model, news))
    case 'events':
      return onEvents(model, news.events)
    case 'subscribed':
      return stay(
        { ...model, reading: undefined, shelf: asStale(model.shelf) },
        { type: 'columns' },
        ...(model.opened ? [{ type: 'open' as const, cardId: model.opened.cardId }] : []),
      )
    case 'live':
      return news.state === 'open' && model.live === 'waiting'
        ? readSettings({ ...model, live: news.state }, settingsOnReturnMs)
        : stay({ ...model, live: news.state })
    case 'columns':
      return stay(onColumns(model, news))
    case 'page':
      return onPage(model, news.page)
    case 'moved':
      return stay({
        ...model,
        moves: model.moves.map(move => (move.id === news.moveId ? { ...move, doneVersion: news.version } : move)),
      })
    case 'refused':
      return onRefused(model, news)
    case 'said':
      return stay(say(model, news.text))
    case 'created':
      return stay({ ...model, view: { ...model.view, filter: '', wanted: news.cardId } })
    case 'found':
      return onFound(model, news.card)
    case 'question':
      return stay(onQuestion(model, news))
    default:
      return onCardRead(model, news)
  }
}

/** A card that could not move is where it was, and the cursor is on it. */
function onRefused(model: Model, { moveId, text }: Extract<News, { type: 'refused' }>): Step {
  const move = model.moves.find(({ id }) => id === moveId)
  const moves = model.moves.filter(each => each !== move)
  const opened = model.opened?.card ? model.opened : undefined
  return stay(
    say({ ...model, moves, opened, view: move ? { ...model.view, wanted: move.cardId } : model.view }, text, true),
  )
}

function onKey(model: Model, key: Key): Step {
  if (key.name === 'ctrl+z') return stay(model, { type: 'stop' })
  if (key.name === 'ctrl+l') return stay(model, { type: 'redraw' })
  if (model.dialog) return inDialog(model, model.dialog, key)
  if (key.name === 'ctrl+c') return stay(model, { type: 'interrupt' })
  // Who presses a key goes where that leads, not where a card that was waited for appears.
  if (model.view.wanted !== undefined) return onKey({ ...model, view: { ...model.view, wanted: undefined } }, key)
  const pressed = [...model.pressed, key.name]
  const action = actionOf(model.keymap, pressed)
  if (action === 'more') return stay({ ...model, pressed })
  const idle = { ...model, pressed: [] }
  if (action) return act(idle, action)
  return model.pressed.length > 0 ? onKey(idle, key) : stay(idle)
}

/** The board's columns; of another board when this one is gone. */
function onColumns(model: Model, { boards, boardId, columns }: Extract<News, { type: 'columns' }>): Model {
  if (boardId !== model.boardId && boards.some(({ id }) => id === model.boardId)) return { ...model, boards }
  const here = boardId === model.boardId ? model : say(withBoard(model, boardId), 'The board was deleted.', true)
  return {
    ...here,
    boards,
    shelf: withColumns(here.shelf, columns),
    reading: here.reading && { ...here.reading, before: withColumns(here.reading.before, columns) },
  }
}

const aboutBoards = /^(board|column)\./

function onEvents(model: Model, events: readonly LiveMessage[]): Step {
  if (events.some(({ type }) => type === 'resync')) return take(model, { type: 'subscribed' })
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
    shelf: withEvents(model.shelf, events),
    opened: model.opened && withNews(model.opened, events),
  }
  const effects: Effect[] = events.some(({ type }) => aboutBoards.test(type)) ? [{ type: 'columns' }] : []
  if (events.some(({ type }) => type === 'project.deleted')) return stay(say(next, 'The project was deleted.', true))
  const isGone = events.some(
    ({ type, data }) => type === 'card.deleted' && (data as { id: string }).id === model.opened?.cardId,
  )
  return stay(isGone ? say({ ...next, opened: undefined }, 'The card was deleted.', true) : next, ...effects)
}

/** Asks for the next page: the columns' beginnings before their rests, the focused column first. */
function readOn(model: Model): Step {
  const open = model.shelf.columns.filter(({ isWhole }) => !isWhole)
  const focus = focusedColumn(boardOf(model), model.view)?.id
  const unread = open.filter(({ read }) => read === 0)
  const from = unread.length > 0 ? unread : open
  const next = from.find(({ id }) => id === focus) ?? from[0]
  if (!next) return stay(model)
  const page = {
    request: model.serial,
    columnId: next.id,
    offset: Math.max(0, next.read - 1),
    limit: next.ids.length === 0 ? firstPage : laterPage,
  }
  return stay(
    { ...model, serial: model.serial + 1, reading: { request: page.request, before: model.shelf, events: [] } },
    { type: 'page', ...page },
  )
}

/** A page is put to what was known when it was asked for; then comes again what was told since. */
function onPage(model: Model, page: Page): Step {
  const { reading } = model
  if (reading?.request !== page.request) return stay(model)
  return stay({ ...model, reading: undefined, shelf: withEvents(withPage(reading.before, page), reading.events) })
}

/** What the agent asks, unless it has been answered meanwhile. */
function onQuestion(model: Model, { cardId, text }: Extract<News, { type: 'question' }>): Model {
  const { dialog } = model
  return dialog?.kind === 'approve' && dialog.cardId === cardId
    ? { ...model, dialog: { ...dialog, question: text } }
    : model
}

function onFound(model: Model, card: Extract<News, { type: 'found' }>['card']): Step {
  if (card.position === null)
    return stay(say(model, `Card ${card.id} is ${card.archivedAt === null ? 'not on a board' : 'archived'}.`, true))
  const home = { ...model, view: { ...model.view, filter: '', wanted: card.id } }
  if (card.boardId === model.boardId)
    return boardOf(home).columns.some(({ ids }) => ids.includes(card.id))
      ? toCard(home, card.id)
      : stay({ ...home, view: { ...home.view, focus: card.columnId } })
  const other = withBoard(model, card.boardId)
  return stay({ ...other, view: { ...other.view, focus: card.columnId, wanted: card.id } }, { type: 'columns' })
}

function onCardRead(model: Model, news: Extract<News, { type: 'opened' | 'older' | 'diffed' }>): Step {
  const { opened } = model
  if (!opened || opened.cardId !== (news.type === 'opened' ? news.card.id : news.cardId)) return stay(model)
  if (news.type === 'opened')
    return stay({
      ...model,
      opened: withRead(opened, { card: news.card, sessions: news.sessions, messages: news.messages }),
    })
  if (news.type === 'diffed') return stay({ ...model, opened: { ...opened, diff: news.diff, isDiffComing: false } })
  const more = {
    ...opened,
    messages: merged(opened.messages, news.messages),
    older: news.messages.length < messagesAtOnce ? ('none' as const) : ('maybe' as const),
  }
  // What is seen stays where it is.
  const added = lastTop(model, more) - lastTop(model, opened)
  return stay({ ...model, opened: { ...more, tops: { ...more.tops, transcript: opened.tops.transcript + added } } })
}
