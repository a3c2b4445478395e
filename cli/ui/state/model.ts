import type { LiveMessage } from '../../../src/client/socket.ts'
import type { defaultUserSettings, ShortcutAction } from '../../../src/contract/settings.ts'
import type { Board } from '../../../src/contract/boards.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import type { InferOutput } from 'valibot'
import type { UserCommand } from '../../context/userCommands.ts'
import type { Named } from '../../context/resolve.ts'
import type { Size } from '../terminal/session.ts'
import type { Key } from '../terminal/keys.ts'
import type { Mouse } from '../terminal/mouse.ts'
import type { Keymap } from './keymap.ts'
import type { Diff, Message, Opened, Session } from './opened.ts'
import type { CardDetail, Column, Page, CardCache } from './cardCache.ts'
import type { TextField } from './textField.ts'

export type BoardRecord = InferOutput<typeof Board>
export type UserSettings = typeof defaultUserSettings
type Hit = Output<Contract['search']['find']>[number]
type Provider = Output<Contract['agents']['providers']>[number]
type Shortcuts = Readonly<Record<ShortcutAction, string>>

/** A card that is on its way: the server has not told of it yet. Without a column it leaves the board. */
export interface Move {
  id: number
  cardId: string
  columnId: string | undefined
  position: number
  doneVersion?: number
}
/** A place on the board. */
export interface Place {
  cardId: string
  columnId: string
  position: number
}
/** What the person did to cards and can take back. */
export type Change =
  { type: 'move'; places: readonly Place[]; text: string } | { type: 'archive' | 'delete'; cardIds: readonly string[] }
/** A change, and where its cards were before it. */
interface Done {
  change: Change
  text: string
  before: readonly Place[]
}
/** What the person wants, and is asked about where that costs something or can't be undone. */
export type Action = Change | { type: 'cancel' | 'merge'; cardIds: readonly string[] } | { type: 'undo' | 'redo' }

/** The orders in which columns show their cards; `board` is the one that the server keeps. */
export const sorts = ['board', 'changed', 'status', 'title'] as const
export type Sort = (typeof sorts)[number]

/** Cards that are dragged with the mouse, and where they would be dropped: before which of the column's shown cards. */
export interface Drag {
  cardIds: readonly string[]
  /** Where the button was pressed. */
  x: number
  y: number
  /** It was pressed on the card under the cursor: unless it is dragged, that is opened. */
  wasCurrent: boolean
  over?: { columnId: string; at: number }
}

/** What the person looks at on the board. */
interface View {
  /** The column that the keys work in. */
  focus: string
  /** Column id -> the card that the cursor was on, and where that was. */
  cursors: Readonly<Record<string, { cardId?: string; at: number }>>
  /** Column id -> the first card that is seen. */
  tops: Readonly<Record<string, number>>
  firstColumn: number
  selected: ReadonlySet<string>
  filter: string
  /** A card that the cursor shall go to as soon as it is there. */
  wanted?: string
}

/** A list from which the person picks while typing. `at` is the item that enter takes. */
export interface PickDialog {
  kind: 'pick'
  purpose: Purpose
  field: TextField
  at: number
}
export type Purpose =
  | { type: 'go'; searchAtMs?: number; hits: readonly Hit[] }
  /** `isFirst`: no project is shown yet, and there is none to go back to. */
  | { type: 'project'; isFirst: boolean }
  | { type: 'column'; cardIds: readonly string[] }
  | { type: 'agent'; cardIds: readonly string[] }
  /** `marks`: labels that are to be put on all the cards (true) or taken off (false). */
  | { type: 'label'; cardIds: readonly string[]; marks: Readonly<Record<string, boolean>> }

export type Dialog =
  | { kind: 'filter'; field: TextField; before: string }
  | PickDialog
  | { kind: 'help'; field: TextField; top: number }
  | { kind: 'add'; columnId: string; title: TextField; prompt?: TextField }
  | { kind: 'send'; cardId: string; field: TextField }
  | {
      kind: 'approve'
      cardId: string
      question: string
      /** The question that is shown; none is answered before. */
      requestId?: string
      feedback?: TextField
      /** To the board, where the person comes from. */ returns: boolean
    }
  | { kind: 'confirm'; question: string; action: Action }

/** Work outside of the model: requests, the editor, the end. */
export type Cmd =
  | { type: 'page'; request: number; columnId: string; offset: number; limit: number }
  | { type: 'columns' | 'settings' | 'projects' | 'agents' }
  | { type: 'search'; text: string }
  | { type: 'move'; move: Move }
  | { type: 'archive'; move: Move }
  | { type: 'delete'; move: Move }
  | ({ type: 'unarchive' | 'restore' } & Place)
  | CardCmd<'merge'>
  | CardCmd<'preview'>
  | CardCmd<'browse'>
  | CardCmd<'copyBranch'>
  | { type: 'label'; cardId: string; marks: Readonly<Record<string, boolean>> }
  | { type: 'agent'; cardId: string; agent: string | null }
  | { type: 'copy'; text: string }
  | { type: 'userCommand'; command: UserCommand; cardId: string | undefined; cardIds: readonly string[] }
  | CardCmd<'run'>
  | CardCmd<'cancel'>
  | CardCmd<'advance'>
  | CardCmd<'viewed'>
  | CardCmd<'edit'>
  | CardCmd<'find'>
  | CardCmd<'question'>
  | CardCmd<'open'>
  | CardCmd<'diff'>
  | { type: 'approve'; cardId: string; requestId: string; approved: boolean; feedback?: string }
  | { type: 'create'; columnId: string; title: string; prompt: string }
  | { type: 'writePrompt'; columnId: string; title: string; prompt: string }
  | { type: 'send'; cardId: string; content: string }
  | { type: 'older'; cardId: string; before: string }
  | { type: 'quit' | 'interrupt' | 'stop' | 'redraw' }

interface CardCmd<Type extends string> {
  type: Type
  cardId: string
}

/** What happened: a key, an answer of the server, a live event. */
export type Msg =
  | { type: 'key'; key: Key }
  | { type: 'mouse'; mouse: Mouse }
  | { type: 'resized'; size: Size }
  | { type: 'tick' }
  | { type: 'events'; events: readonly LiveMessage[] }
  | { type: 'subscribed' }
  | { type: 'live'; state: Model['live'] }
  | { type: 'returned' }
  | { type: 'settings'; settings: UserSettings; shortcuts: Shortcuts }
  | { type: 'projects'; projects: readonly Named[] }
  | { type: 'agents'; agents: readonly Provider[] }
  | { type: 'hits'; text: string; hits: readonly Hit[] }
  | { type: 'previewed'; card: CardDetail; sessions: readonly Session[]; messages: readonly Message[] }
  | { type: 'columns'; projectId?: string; boards: readonly BoardRecord[]; boardId: string; columns: readonly Column[] }
  | { type: 'page'; page: Page }
  /** `notStarted`: why no agent started in its new column. */
  | { type: 'moved'; moveId: number; version: number; notStarted?: string }
  | { type: 'refused'; moveId?: number; text: string }
  | { type: 'said'; text: string }
  | { type: 'created'; cardId: string }
  /** `project` is the card's where that is another one. */
  | { type: 'found'; card: CardDetail; project?: Named }
  | { type: 'question'; cardId: string; requestId: string | undefined; text: string }
  | { type: 'opened'; card: CardDetail; sessions: readonly Session[]; messages: readonly Message[] }
  | { type: 'older'; cardId: string; messages: readonly Message[] }
  | { type: 'diffed'; cardId: string; diff: Diff | string }

/** Everything that the screens show follows from this. */
export interface Model {
  size: Size
  nowMs: number
  project: Named
  boards: readonly BoardRecord[]
  boardId: string
  cache: CardCache
  /** A page that is being read: since when, and what was told meanwhile. */
  reading?: { request: number; before: CardCache; events: readonly LiveMessage[] }
  moves: readonly Move[]
  undos: readonly Done[]
  redos: readonly Done[]
  view: View
  sort: Sort
  /** One line a card, or several. Undefined: as there is room. */
  isDense?: boolean
  hasPreview: boolean
  /** The card under the cursor, read once the cursor rests. */
  preview?: Opened & { readAtMs: number | undefined }
  drag?: Drag
  opened?: Opened
  dialog?: Dialog
  notice?: { text: string; isError: boolean; untilMs: number }
  live: 'connecting' | 'open' | 'waiting'
  settings: UserSettings
  /** When the settings and the keys were last asked for. */
  settingsAtMs: number
  keymap: Keymap
  /** The person's own, from the configuration of this machine. */
  commands: readonly UserCommand[]
  /** What was read when it was first needed. */
  projects: readonly Named[]
  agents: readonly Provider[]
  /** The keys of a sequence that has begun. */
  pressed: readonly string[]
  /** The number of the next move or request. */
  serial: number
}

export interface Update {
  model: Model
  cmds: readonly Cmd[]
}

const noticeMs = 6000
export const updated = (model: Model, ...cmds: Cmd[]): Update => ({ model, cmds })
export const withNotice = (model: Model, text: string, isError = false): Model => ({
  ...model,
  notice: { text, isError, untilMs: model.nowMs + noticeMs },
})
