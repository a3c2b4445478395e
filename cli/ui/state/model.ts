import type { LiveMessage } from '../../../src/client/socket.ts'
import type { UserSettings } from '../../../src/contract/accounts/settings.ts'
import type { ShortcutAction } from '../../../src/contract/accounts/shortcuts.ts'
import type { Board } from '../../../src/contract/boards/boards.ts'
import type { PlanOptions } from '../../cards/planInputs.ts'
import type { AfterMerge } from '../../../src/contract/forges/afterMerge.ts'
import type { AgentChoice } from '../../../src/contract/agents/agentChoice.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import type { InferOutput } from 'valibot'
import type { UserCommand } from '../../context/userCommands.ts'
import type { Named } from '../../context/resolve.ts'
import type { Size } from '../terminal/session.ts'
import type { Key } from '../terminal/keys.ts'
import type { Mouse } from '../terminal/mouse.ts'
import type { Move } from '../../../src/boardModel/shownBoard.ts'
import type { BoardFeed } from '../../../src/boardModel/boardFeed.ts'
import type { Change, Changing, Place } from '../../../src/boardModel/changes.ts'
import type { Sort } from '../../../src/boardModel/sort.ts'
import type { Keymap } from '../../../src/boardModel/keymap.ts'
import type { Comment, Opened } from './opened.ts'
import type { Diff, Message, Session } from '../../../src/boardModel/openedCard.ts'
import type { CardDetail, Column, Page, CardCache } from '../../../src/boardModel/cardCache.ts'
import type { TextField } from './textField.ts'

export type BoardRecord = InferOutput<typeof Board>
export type { UserSettings }
type Hit = Output<Contract['search']['find']>[number]
type Provider = Output<Contract['agents']['providers']>[number]
type AgentProfile = Output<Contract['agentProfiles']['list']>[number]
type Person = Output<Contract['members']['people']>[number]
type SlashCommand = Output<Contract['agents']['slashCommands']>[number]
type Shortcuts = Readonly<Record<ShortcutAction, string>>

/** The steps that can follow the merge of a card, or are to follow it. */
export type MergeSteps = Readonly<AfterMerge & { cardId: string }>

/** An action of the user; some need a confirmation. */
export type Action =
  | Change
  | { type: 'cancel'; cardIds: readonly string[] }
  | { type: 'merge'; cardIds: readonly string[]; squash?: true }
  | { type: 'afterMerge'; steps: readonly MergeSteps[] }
  | { type: 'undo' | 'redo' }
  /** Refused changes that force can apply. */
  | { type: 'force'; cmds: readonly Forcible[] }

/** A drag of cards, and its drop target: a column and the card before which they are inserted. */
export interface Drag {
  cardIds: readonly string[]
  /** The cell where the button was pressed. */
  x: number
  y: number
  /** Whether the button was pressed on the card under the cursor, so that a click without a drag opens the card. */
  wasCurrent: boolean
  over?: { columnId: string; at: number }
}

/** The state of the board's view. */
interface View {
  /** The focused column. */
  focus: string
  /** Column ID -> the card under the cursor, and its index. */
  cursors: Readonly<Record<string, { cardId?: string; at: number }>>
  /** Column ID -> the first visible card. */
  tops: Readonly<Record<string, number>>
  firstColumn: number
  selected: ReadonlySet<string>
  filter: string
  /** A card that receives the cursor after it is loaded. */
  wanted?: string
}

/** A list filtered by typing. `at` is the item under the cursor. */
export interface PickDialog {
  kind: 'pick'
  purpose: Purpose
  field: TextField
  at: number
}
export type Purpose =
  | { type: 'go'; searchAtMs?: number; hits: readonly Hit[] }
  /** `isFirst`: no project was shown before, so there is none to return to. */
  | { type: 'project'; isFirst: boolean }
  | { type: 'column'; cardIds: readonly string[] }
  | { type: 'agent'; cardIds: readonly string[] }
  /** The second step: a model of the chosen agent. */
  | { type: 'model'; cardIds: readonly string[]; choice: AgentChoice }
  /** `marks`: labels to add to all the cards (true) or to remove (false). */
  | { type: 'label'; cardIds: readonly string[]; marks: Readonly<Record<string, boolean>> }
  | PlanPurpose

/** A change of cards' plans; `people` can be assigned. */
export interface PlanPurpose {
  type: 'plan'
  cardIds: readonly string[]
  people: readonly Person[]
}
/** A field of a plan and its new value as people type it; `none` clears it. */
export type PlanStep =
  | { field: keyof PlanOptions; value: string }
  | { field: 'assignee'; userId: string; name: string; isOn: boolean }

/** A message to an agent. `commands` are the agent's slash commands; `at` is the one that tab completes. */
export interface SendDialog {
  kind: 'send'
  cardId: string
  field: TextField
  commands: readonly SlashCommand[]
  at: number
}

/** A possible answer to an agent's question. */
interface AnswerOption {
  id: string
  name: string
  kind: string
}

export type Dialog =
  | { kind: 'filter'; field: TextField; before: string }
  | PickDialog
  | { kind: 'help'; field: TextField; top: number }
  | { kind: 'add'; columnId: string; title: TextField; prompt?: TextField }
  | SendDialog
  | { kind: 'comment'; cardId: string; field: TextField }
  | {
      kind: 'approve'
      cardId: string
      /** The question: its title, and the command that would run. */
      lines: readonly string[]
      /** The agent's own answers. */
      options: readonly AnswerOption[]
      /** Whether the question accepts a text answer, which is typed in `feedback`. */
      takesText?: boolean
      /** The question shown; undefined while it is loading, when no answer is accepted. */
      requestId?: string
      feedback?: TextField
      /** Whether to return to the board. */ returns: boolean
    }
  /** Without `action`, the question is loading and accepts no answer. */
  | { kind: 'confirm'; question: string; action?: Action }

/**
 * Side effects: requests, the editor, quitting. `wasSelected`: the card was selected, and is selected again if the server refuses the
 * command.
 */
export type Cmd = AnyCmd & { wasSelected?: true }

type AnyCmd =
  | { type: 'page'; request: number; columnId: string; offset: number; limit: number }
  | { type: 'columns' | 'settings' | 'projects' | 'agents' | 'people' }
  | { type: 'search'; text: string }
  | { type: 'move'; move: Move; force?: true }
  | { type: 'archive'; move: Move }
  | { type: 'delete'; move: Move }
  | ({ type: 'unarchive' | 'restore' } & Place)
  | { type: 'merge'; cardId: string; squash?: true }
  | { type: 'afterMerge'; steps: MergeSteps }
  | { type: 'branches'; cardIds: readonly string[] }
  | CardCmd<'preview'>
  | CardCmd<'browse'>
  | CardCmd<'copyBranch'>
  | { type: 'label'; cardId: string; marks: Readonly<Record<string, boolean>> }
  | { type: 'agent'; cardId: string; choice: AgentChoice }
  | { type: 'copy'; text: string }
  | { type: 'userCommand'; command: UserCommand; cardId: string | undefined; cardIds: readonly string[] }
  | { type: 'run'; cardId: string; force?: true }
  | CardCmd<'cancel'>
  | CardCmd<'advance'>
  | CardCmd<'viewed'>
  | CardCmd<'edit'>
  | CardCmd<'find'>
  | CardCmd<'question'>
  | CardCmd<'slashCommands'>
  | CardCmd<'open'>
  | CardCmd<'diff'>
  | CardCmd<'comments'>
  | { type: 'comment' | 'writeComment'; cardId: string; content: string }
  | { type: 'plan'; cardId: string; step: PlanStep }
  | {
      type: 'approve'
      cardId: string
      requestId: string
      approved: boolean
      optionId?: string
      feedback?: string
      answer?: string
    }
  | { type: 'create'; columnId: string; title: string; prompt: string }
  | { type: 'writePrompt'; columnId: string; title: string; prompt: string }
  | { type: 'send'; cardId: string; content: string }
  | { type: 'older'; cardId: string; before: string }
  | { type: 'quit' | 'interrupt' | 'stop' | 'redraw' }

export const cardOfCmd = (cmd: Cmd): string | undefined =>
  'move' in cmd ? cmd.move.cardId : 'cardId' in cmd ? cmd.cardId : undefined

/** The changes that can be repeated with force. */
export type Forcible = Extract<Cmd, { type: 'move' | 'run' }>

interface CardCmd<Type extends string> {
  type: Type
  cardId: string
}

/** Events: keys, responses, live events. */
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
  | { type: 'agents'; agents: readonly Provider[]; agentProfiles: readonly AgentProfile[] }
  | { type: 'slashCommands'; cardId: string; commands: readonly SlashCommand[] }
  | { type: 'people'; people: readonly Person[] }
  | { type: 'hits'; text: string; hits: readonly Hit[] }
  | { type: 'previewed'; card: CardDetail; sessions: readonly Session[]; messages: readonly Message[] }
  | { type: 'columns'; projectId?: string; boards: readonly BoardRecord[]; boardId: string; columns: readonly Column[] }
  | { type: 'page'; page: Page }
  /** `notStarted`: why the new column started no agent. */
  | { type: 'moved'; moveId: number; version: number; notStarted?: string }
  /** `selects`: the card that is selected again. `forced`: the command with force. */
  | { type: 'refused'; moveId?: number; selects?: string; text: string; forced?: Forcible }
  | { type: 'notice'; text: string }
  /** `steps`: those that can follow the merge. */
  | { type: 'merged'; text: string; steps: MergeSteps }
  /** `into`: the branch that the project's folder is on. */
  | { type: 'branches'; branches: readonly { cardId: string; branch: string | null }[]; into: string | null }
  | { type: 'created'; cardId: string }
  /** `project`: the card's project, if it is not the current one. */
  | { type: 'found'; card: CardDetail; project?: Named }
  | {
      type: 'question'
      cardId: string
      requestId?: string
      lines: readonly string[]
      options: readonly AnswerOption[]
      takesText?: boolean
    }
  | { type: 'opened'; card: CardDetail; sessions: readonly Session[]; messages: readonly Message[] }
  | { type: 'older'; cardId: string; messages: readonly Message[] }
  | { type: 'diffed'; cardId: string; diff: Diff | string }
  | { type: 'commented'; cardId: string; comments: readonly Comment[] | string }

/** The whole state of the user interface. */
export interface Model extends BoardFeed, Changing {
  size: Size
  nowMs: number
  project: Named
  boards: readonly BoardRecord[]
  boardId: string
  cache: CardCache
  view: View
  sort: Sort
  /** Whether cards use one line or several. Undefined: depends on the space. */
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
  /** When settings and shortcuts were last requested. */
  settingsAtMs: number
  keymap: Keymap<UserCommand>
  /** User commands of this machine's configuration. */
  commands: readonly UserCommand[]
  /** Loaded on demand. */
  projects: readonly Named[]
  agents: readonly Provider[]
  agentProfiles: readonly AgentProfile[]
  /** The keys of an incomplete sequence. */
  pressed: readonly string[]
}

export interface Update {
  model: Model
  cmds: readonly Cmd[]
}

const noticeMs = 6000
export const toUpdate = (model: Model, ...cmds: Cmd[]): Update => ({ model, cmds })
export const withNotice = (model: Model, text: string, isError = false): Model => ({
  ...model,
  notice: { text, isError, untilMs: model.nowMs + noticeMs },
})
