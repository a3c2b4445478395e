import type { LiveMessage } from '../../../src/client/socket.ts'
import type { defaultUserSettings, ShortcutAction } from '../../../src/contract/settings.ts'
import type { Board } from '../../../src/contract/boards.ts'
import type { InferOutput } from 'valibot'
import type { Named } from '../../resolve.ts'
import type { Size } from '../terminal/session.ts'
import type { Key } from '../terminal/keys.ts'
import type { Keymap } from './keymap.ts'
import type { Diff, Message, Opened, Session } from './opened.ts'
import type { CardDetail, Column, Page, CardCache } from './cardCache.ts'
import type { TextField } from './textField.ts'

export type BoardRecord = InferOutput<typeof Board>
export type UserSettings = typeof defaultUserSettings
export type Shortcuts = Readonly<Record<ShortcutAction, string>>

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
/** Where cards were before they were moved or archived. */
export interface Undo {
  text: string
  places: readonly Place[]
  wasArchived: boolean
}
/** What the person wants, and is asked about where it can't be undone. */
export type Action =
  | { type: 'move'; places: readonly Place[]; text: string }
  | { type: 'archive' | 'cancel'; cardIds: readonly string[] }
  | { type: 'undo' }

/** What the person looks at on the board. */
export interface View {
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

export type Dialog =
  | { kind: 'filter'; field: TextField; before: string }
  | { kind: 'jump'; field: TextField }
  | { kind: 'help'; field: TextField; top: number }
  | { kind: 'add'; columnId: string; title: TextField; prompt?: TextField }
  | { kind: 'send'; cardId: string; field: TextField }
  | {
      kind: 'approve'
      cardId: string
      question: string
      feedback?: TextField
      /** To the board, where the person comes from. */ returns: boolean
    }
  | { kind: 'confirm'; question: string; action: Action }

/** Work outside of the model: requests, the editor, the end. */
export type Cmd =
  | { type: 'page'; request: number; columnId: string; offset: number; limit: number }
  | { type: 'columns' | 'settings' }
  | { type: 'move'; move: Move }
  | { type: 'archive'; move: Move }
  | ({ type: 'unarchive' } & Place)
  | CardCmd<'run'>
  | CardCmd<'cancel'>
  | CardCmd<'advance'>
  | CardCmd<'viewed'>
  | CardCmd<'edit'>
  | CardCmd<'find'>
  | CardCmd<'question'>
  | CardCmd<'open'>
  | CardCmd<'diff'>
  | { type: 'approve'; cardId: string; approved: boolean; feedback?: string }
  | { type: 'create'; columnId: string; title: string; prompt: string }
  | { type: 'writePrompt'; columnId: string; title: string; prompt: string }
  | { type: 'send'; cardId: string; content: string }
  | { type: 'older'; cardId: string; before: string }
  | { type: 'quit' | 'interrupt' | 'stop' | 'redraw' }

interface CardCmd<Type extends string> {
  type: Type
  cardId: string
}

/** What the model is told. */
export type Msg =
  | { type: 'key'; key: Key }
  | { type: 'resized'; size: Size }
  | { type: 'tick' }
  | { type: 'events'; events: readonly LiveMessage[] }
  | { type: 'subscribed' }
  | { type: 'live'; state: Model['live'] }
  | { type: 'returned' }
  | { type: 'settings'; settings: UserSettings; shortcuts: Shortcuts }
  | { type: 'columns'; boards: readonly BoardRecord[]; boardId: string; columns: readonly Column[] }
  | { type: 'page'; page: Page }
  | { type: 'moved'; moveId: number; version: number }
  | { type: 'refused'; moveId?: number; text: string }
  | { type: 'said'; text: string }
  | { type: 'created'; cardId: string }
  | { type: 'found'; card: CardDetail }
  | { type: 'question'; cardId: string; text: string }
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
  undos: readonly Undo[]
  view: View
  opened?: Opened
  dialog?: Dialog
  notice?: { text: string; isError: boolean; untilMs: number }
  live: 'connecting' | 'open' | 'waiting'
  settings: UserSettings
  /** When the settings and the keys were last asked for. */
  settingsAtMs: number
  keymap: Keymap
  /** The keys of a sequence that has begun. */
  pressed: readonly string[]
  /** The number of the next move or request. */
  serial: number
}

export interface Update {
  model: Model
  cmds: readonly Cmd[]
}

export const noticeMs = 6000
export const updated = (model: Model, ...cmds: Cmd[]): Update => ({ model, cmds })
export const say = (model: Model, text: string, isError = false): Model => ({
  ...model,
  notice: { text, isError, untilMs: model.nowMs + noticeMs },
})
