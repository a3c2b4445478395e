import type { LiveMessage } from '../../../src/client/socket.ts'
import type { EventData } from '../../../src/contract/server/events.ts'
import type { Key } from '../terminal/keys.ts'
import { boardOf, focusedColumn, settle } from './board.ts'
import { runAction, lastTop, runUserCommand } from './cardKeys.ts'
import { updateDialog } from './dialogs.ts'
import { toCard, withBoard, withProject } from './goTo.ts'
import { readComments, withCommentEvents } from './comments.ts'
import { onRefused } from './forcedChange.ts'
import { askToMerge, onMerged } from './mergeCards.ts'
import { onPeople } from './planItems.ts'
import { bindingOf } from '../../../src/boardModel/keymap.ts'
import { onMouse } from './mouse.ts'
import { searchWhenDue } from './pickKeys.ts'
import { followCursor, onPreviewed } from './preview.ts'
import { withNotice, toUpdate, type Cmd, type Model, type Msg, type Update } from './model.ts'
import { mergeMessages, messagesAtOnce, withLiveEvents, withRead } from '../../../src/boardModel/openedCard.ts'
import { readSettings, settingsPollMs, minSettingsAgeOnReturnMs, withSettings } from './settings.ts'
import { onSlashCommands } from './slashCommands.ts'
import { textIn } from './textField.ts'
import {
  asStaleFeed,
  nextPage,
  affectsColumns,
  withAnswer,
  withBoardColumns,
  withRequest,
  withFeedEvents,
} from '../../../src/boardModel/boardFeed.ts'
import { withMoveDone } from '../../../src/boardModel/changes.ts'

/** The update function: the next model, and its commands. */
export function update(model: Model, msg: Msg): Update {
  const { model: next, cmds } = apply(model, msg)
  const settled = settle(next)
  const all: Cmd[] = [...cmds]
  const after = [readNextPage, (now: Model) => markViewed(model, now), readComments, followCursor].reduce(
    (now, follow) => {
      const { model: following, cmds: more } = follow(now)
      all.push(...more)
      return following
    },
    settled,
  )
  return { model: after, cmds: all }
}

/** Marks an opened card as read, and its diff while that tab is open. */
function markViewed({ opened: before }: Model, model: Model): Update {
  const { opened } = model
  if (!opened?.card) return toUpdate(model)
  const viewed: Cmd[] =
    opened.card.unread && before?.card?.version !== opened.card.version
      ? [{ type: 'viewed', cardId: opened.cardId }]
      : []
  if (opened.tab !== 'diff' || !opened.isDiffStale || opened.isDiffComing) return toUpdate(model, ...viewed)
  return toUpdate({ ...model, opened: { ...opened, isDiffStale: false, isDiffComing: true } }, ...viewed, {
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
      return toUpdate({ ...model, size: msg.size, drag: undefined })
    case 'tick':
      return onTick(model)
    case 'returned':
      return readSettings(model, minSettingsAgeOnReturnMs)
    case 'settings':
      return toUpdate(withSettings(model, msg))
    case 'events':
      return onEvents(model, msg.events)
    case 'projects':
      return toUpdate({ ...model, projects: msg.projects })
    case 'agents':
      return toUpdate({ ...model, agents: msg.agents, agentProfiles: msg.agentProfiles })
    case 'people':
      return toUpdate(onPeople(model, msg))
    case 'previewed':
      return toUpdate(onPreviewed(model, msg))
    case 'subscribed':
      return toUpdate(
        { ...asStaleFeed(model), opened: model.opened && { ...model.opened, areCommentsStale: true } },
        { type: 'columns' },
        ...(model.opened ? [{ type: 'open' as const, cardId: model.opened.cardId }] : []),
      )
    case 'live':
      return msg.state === 'open' && model.live === 'waiting'
        ? readSettings({ ...model, live: msg.state }, minSettingsAgeOnReturnMs)
        : toUpdate({ ...model, live: msg.state })
    case 'columns':
      return toUpdate(onColumns(model, msg))
    case 'page':
      return toUpdate(withAnswer(model, msg.page))
    case 'moved':
      return toUpdate(withMoveDone(msg.notStarted ? withNotice(model, msg.notStarted) : model, msg.moveId, msg.version))
    case 'refused':
      return onRefused(model, msg)
    case 'notice':
      return toUpdate(withNotice(model, msg.text))
    case 'created':
      return toUpdate({ ...model, view: { ...model.view, filter: '', wanted: msg.cardId } })
    case 'found':
      return onFound(model, msg)
    case 'hits':
    case 'branches':
    case 'merged':
    case 'question':
    case 'slashCommands':
      return toUpdate(onDialogRead(model, msg))
    default:
      return onCardRead(model, msg)
  }
}

function onTick(model: Model): Update {
  const notice = model.notice && model.notice.untilMs > model.nowMs ? model.notice : undefined
  const searching = searchWhenDue({ ...model, notice })
  const { model: next, cmds } = readSettings(searching.model, settingsPollMs)
  return toUpdate(next, ...searching.cmds, ...cmds)
}

/** Applies a response to the dialog that requested it, if that is still open. */
function onDialogRead(
  model: Model,
  msg: Extract<Msg, { type: 'hits' | 'branches' | 'merged' | 'question' | 'slashCommands' }>,
): Model {
  if (msg.type === 'branches') return askToMerge(model, msg)
  if (msg.type === 'merged') return onMerged(model, msg)
  if (msg.type === 'hits') return onHits(model, msg)
  return msg.type === 'question' ? onQuestion(model, msg) : onSlashCommands(model, msg)
}

/** Applies found cards, unless the text has changed since. */
function onHits(model: Model, { text, hits }: Extract<Msg, { type: 'hits' }>): Model {
  const { dialog } = model
  if (dialog?.kind !== 'pick' || dialog.purpose.type !== 'go' || textIn(dialog.field).trim() !== text) return model
  const cards = hits.filter(({ type, archived }) => type === 'card' && !archived)
  return { ...model, dialog: { ...dialog, purpose: { ...dialog.purpose, hits: cards } } }
}

function onKey(model: Model, key: Key): Update {
  if (key.name === 'ctrl+z') return toUpdate(model, { type: 'stop' })
  if (key.name === 'ctrl+l') return toUpdate(model, { type: 'redraw' })
  if (model.dialog) return updateDialog(model, model.dialog, key)
  if (key.name === 'ctrl+c') return toUpdate(model, { type: 'interrupt' })
  // A key cancels waiting for a card that should get the cursor.
  if (model.view.wanted !== undefined) return onKey({ ...model, view: { ...model.view, wanted: undefined } }, key)
  const pressed = [...model.pressed, key.name]
  const binding = bindingOf(model.keymap, pressed)
  if (binding === 'more') return toUpdate({ ...model, pressed })
  const idle = { ...model, pressed: [], drag: undefined }
  if (binding) return typeof binding === 'string' ? runAction(idle, binding) : runUserCommand(idle, binding)
  return model.pressed.length > 0 ? onKey(idle, key) : toUpdate(idle)
}

/** Applies the board's columns. If the board was deleted, switches to another one. */
function onColumns(model: Model, { projectId, boards, boardId, columns }: Extract<Msg, { type: 'columns' }>): Model {
  if (projectId !== undefined && projectId !== model.project.id) return model
  if (boardId !== model.boardId && boards.some(({ id }) => id === model.boardId)) return { ...model, boards }
  const here = boardId === model.boardId ? model : withOtherBoard(model, boardId)
  return { ...withBoardColumns(here, columns), boards }
}

/** Shows the first board: of a newly chosen project, or because the shown board was deleted. */
const withOtherBoard = (model: Model, boardId: string): Model => {
  const { focus, wanted } = model.view
  return model.boardId === ''
    ? { ...model, boardId, view: { ...model.view, focus, wanted } }
    : withNotice(withBoard(model, boardId), 'The board was deleted.', true)
}

function onEvents(model: Model, all: readonly LiveMessage[]): Update {
  const events = all.filter(({ projectId }) => projectId === null || projectId === model.project.id)
  if (events.some(({ type }) => type === 'resync')) return apply(model, { type: 'subscribed' })
  const project = events.reduce(
    (known, { type, data }) =>
      type === 'project.updated' ? { ...known, name: (data as EventData<'project.updated'>).name } : known,
    model.project,
  )
  const next = {
    ...withFeedEvents(model, events),
    project,
    opened: model.opened && withCommentEvents(withLiveEvents(model.opened, events), events),
    preview: model.preview && { ...withLiveEvents(model.preview, events), readAtMs: model.preview.readAtMs },
  }
  const cmds: Cmd[] = affectsColumns(events) ? [{ type: 'columns' }] : []
  if (events.some(({ type }) => type === 'project.deleted'))
    return toUpdate(withNotice(next, 'The project was deleted.', true))
  const isGone = events.some(
    ({ type, data }) => type === 'card.deleted' && (data as { id: string }).id === model.opened?.cardId,
  )
  return toUpdate(isGone ? withNotice({ ...next, opened: undefined }, 'The card was deleted.', true) : next, ...cmds)
}

/** Reads the next page of cards, the focused column's first. */
function readNextPage(model: Model): Update {
  if (model.reading) return toUpdate(model)
  const page = nextPage(model, focusedColumn(boardOf(model), model.view)?.id)
  if (!page) return toUpdate(model)
  const request = model.serial
  return toUpdate(withRequest({ ...model, serial: request + 1 }, request), { type: 'page', request, ...page })
}

/** Applies an agent's question, unless it was answered since. */
function onQuestion(
  model: Model,
  { cardId, requestId, lines, options, takesText }: Extract<Msg, { type: 'question' }>,
): Model {
  const { dialog } = model
  return dialog?.kind === 'approve' && dialog.cardId === cardId
    ? { ...model, dialog: { ...dialog, lines, options, takesText, requestId } }
    : model
}

function onFound(model: Model, { card, project }: Extract<Msg, { type: 'found' }>): Update {
  if (card.position === null)
    return toUpdate(
      withNotice(model, `Card ${card.id} is ${card.archivedAt === null ? 'not on a board' : 'archived'}.`, true),
    )
  if (project && project.id !== model.project.id) {
    const there = { ...withProject(model, project), boardId: card.boardId }
    return toUpdate({ ...there, view: { ...there.view, focus: card.columnId, wanted: card.id } }, { type: 'columns' })
  }
  const home = { ...model, view: { ...model.view, filter: '', wanted: card.id } }
  if (card.boardId === model.boardId)
    return boardOf(home).columns.some(({ ids }) => ids.includes(card.id))
      ? toCard(home, card.id)
      : toUpdate({ ...home, view: { ...home.view, focus: card.columnId } })
  const other = withBoard(model, card.boardId)
  return toUpdate({ ...other, view: { ...other.view, focus: card.columnId, wanted: card.id } }, { type: 'columns' })
}

function onCardRead(model: Model, msg: Extract<Msg, { type: 'opened' | 'older' | 'diffed' | 'commented' }>): Update {
  const { opened } = model
  if (!opened || opened.cardId !== (msg.type === 'opened' ? msg.card.id : msg.cardId)) return toUpdate(model)
  if (msg.type === 'opened')
    return toUpdate({
      ...model,
      opened: withRead(opened, { card: msg.card, sessions: msg.sessions, messages: msg.messages }),
    })
  if (msg.type === 'diffed') return toUpdate({ ...model, opened: { ...opened, diff: msg.diff, isDiffComing: false } })
  if (msg.type === 'commented') return toUpdate({ ...model, opened: { ...opened, comments: msg.comments } })
  const more = {
    ...opened,
    messages: mergeMessages(opened.messages, msg.messages),
    older: msg.messages.length < messagesAtOnce ? ('none' as const) : ('maybe' as const),
  }
  // Keeps the visible lines in place.
  const added = lastTop(model, more) - lastTop(model, opened)
  return toUpdate({ ...model, opened: { ...more, tops: { ...more.tops, transcript: opened.tops.transcript + added } } })
}
