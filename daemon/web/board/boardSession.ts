import {
  asStaleFeed,
  nextPage,
  affectsColumns,
  withAnswer,
  withBoardColumns,
  withRequest,
  withFeedEvents,
  type BoardFeed,
} from '../../../src/boardModel/boardFeed.ts'
import { emptyCache, type Card, type Column } from '../../../src/boardModel/cardCache.ts'
import type { Changing } from '../../../src/boardModel/changes.ts'
import { shownBoard, pendingMoves, type ShownBoard, type ShownColumn } from '../../../src/boardModel/shownBoard.ts'
import { createSerialQueue } from '../../../src/async/serialQueue.ts'
import { ApiFailure } from '../../../src/client/failures.ts'
import type { LiveMessage } from '../../../src/client/socket.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { followProject } from '../app/live.ts'
import { showError, showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Store } from '../app/store.ts'
import { untilReached } from '../app/untilReached.ts'
import { arrangeCards, type Arrangement } from './arrangement.ts'
import { parseView, type ViewState } from './boardView.ts'
import { Cursor } from './cursor.ts'
import { AgentActivities } from './agentActivities.ts'
import { ChangeSizes } from './changeSizes.ts'

export type Board = Output<Contract['boards']['list']>[number]

/** The complete state that the board shows. */
export interface BoardState extends BoardFeed, Changing, ViewState {
  /** Undefined until they are read. */
  boards?: readonly Board[]
  boardId?: string
  /** The columns with their prompts. */
  columns: readonly Column[]
  selected: ReadonlySet<string>
  /** The keys of the groups whose cards are hidden. */
  collapsed: ReadonlySet<string>
  error?: unknown
}

/** The number of cards to read beyond the visible ones. */
const ahead = 200

/** The project board on the screen, with its updates and changes. */
export class BoardSession {
  readonly projectId: string
  readonly state: Store<BoardState>
  readonly cursor = new Cursor(
    () => this.currentBoard(),
    columnId => this.cardsFrom(columnId),
  )
  /** The card that the person opened or selected last, where a range of cards starts. */
  anchor: string | undefined
  /** The column of the table that had the focus last. */
  cell = 'title'
  readonly agentActivities: AgentActivities
  readonly changeSizes = new ChangeSizes()
  /** Changes are sent to the server in the order of the requests. */
  readonly changes = createSerialQueue()
  readonly #needed = new Map<string, number>()
  #shown: { state: BoardState; board: ShownBoard } | undefined
  #arranged: { from: readonly unknown[]; arrangement: Arrangement } | undefined
  #isOver = false

  constructor(projectId: string, boardId: string | undefined, view: ViewState) {
    this.projectId = projectId
    this.agentActivities = new AgentActivities(projectId)
    this.state = new Store<BoardState>({
      boardId,
      cache: emptyCache,
      moves: [],
      undos: [],
      redos: [],
      serial: 1,
      columns: [],
      ...view,
      selected: new Set(),
      collapsed: new Set(),
    })
  }

  /** Reads and follows the board. @returns a function that stops */
  start(): () => void {
    this.#isOver = false
    const end = followProject(
      this.projectId,
      events => this.#onEvents(events),
      () => this.#readAll(),
    )
    // The initial columns do not wait for the events.
    void this.#readColumns()
    return () => {
      this.#isOver = true
      end()
    }
  }

  /** Shows another board of the project. */
  show(boardId: string | undefined, view = parseView()): void {
    const { boardId: shown, boards } = this.state.get()
    const wanted = boardId ?? boards?.[0]?.id
    if (wanted === shown) return
    this.#needed.clear()
    this.set(state => ({
      ...state,
      boardId: wanted,
      cache: emptyCache,
      reading: undefined,
      columns: [],
      moves: [],
      undos: [],
      redos: [],
      ...view,
      selected: new Set(),
      collapsed: new Set(),
    }))
    void this.#readColumns()
  }

  /** Changes the state. Removes completed moves, deselects deleted cards, and loads missing data. */
  set(change: (state: BoardState) => BoardState): void {
    const next = change(this.state.get())
    const moves = pendingMoves(next.cache, next.moves)
    const selected = [...next.selected].filter(id => next.cache.cards.has(id))
    const settled = {
      ...next,
      moves,
      selected: selected.length === next.selected.size ? next.selected : new Set(selected),
    }
    this.state.set(settled)
    this.#readNext()
  }

  /** The board that the person sees. */
  currentBoard(): ShownBoard {
    const state = this.state.get()
    const { state: before, board } = this.#shown ?? {}
    if (board && before === state) return board
    const isSame =
      before?.cache === state.cache &&
      before.moves === state.moves &&
      before.filter === state.filter &&
      before.sort === state.sort &&
      before.isReversed === state.isReversed &&
      before.isTable === state.isTable &&
      board
    // A table sorts the cards of all columns together.
    const sort = state.isTable ? 'board' : state.sort
    const now = isSame || shownBoard({ ...state, sort, agents: this.agentActivities.state.get() }, board)
    this.#shown = { state, board: now }
    return now
  }

  /** The cards of the shown board in the order and the groups of the view. */
  arrangement(): Arrangement {
    const state = this.state.get()
    const { sort, isReversed, isTable, group, collapsed } = state
    const board = this.currentBoard()
    const from = [board, sort, isReversed, isTable, group, collapsed]
    if (!this.#arranged || from.some((value, at) => value !== this.#arranged!.from[at]))
      this.#arranged = { from, arrangement: arrangeCards(board, state, collapsed, this.agentActivities.state.get()) }
    return this.#arranged.arrangement
  }

  /** The cards that the keys go through from a column: those of the column, or of the whole table. */
  cardsFrom(columnId: string): readonly string[] {
    const { isTable, group } = this.state.get()
    if (isTable) return this.arrangement().order
    return (group ? this.arrangement().byColumn.get(columnId) : this.column(columnId)?.found) ?? []
  }

  column(id: string | undefined): ShownColumn | undefined {
    return this.currentBoard().columns.find(column => column.id === id)
  }

  card(id: string): Card | undefined {
    return this.state.get().cache.cards.get(id)
  }

  /** The column is visible up to this card. */
  readUpTo(columnId: string, last: number): void {
    this.#needed.set(columnId, last + ahead)
    this.#readNext()
  }

  async #readAll(): Promise<void> {
    this.set(asStaleFeed)
    this.agentActivities.read().catch(() => undefined)
    await this.#readColumns()
  }

  async #readColumns(): Promise<void> {
    const { projectId } = this
    try {
      const asked = this.state.get().boardId
      // Both requests run at once: without a board, the columns of all boards are returned, and those of the first board are shown.
      const [boards, all] = await Promise.all([
        this.#ask(() => client.boards.list({ projectId })),
        this.#ask(() => columnsOf(projectId, asked)),
      ])
      if (this.state.get().boardId !== asked) return
      const board = boards.find(({ id }) => id === asked) ?? boards[0]
      if (asked !== undefined && board?.id !== asked) showMessage('The board no longer exists.')
      if (board && board.id !== asked) this.set(state => ({ ...state, boardId: board.id, cache: emptyCache }))
      const columns = all.filter(({ boardId }) => boardId === board?.id)
      this.set(state => ({ ...withBoardColumns(state, columns), boards, columns, error: undefined }))
    } catch (error) {
      this.set(state => ({ ...state, error }))
    }
  }

  #onEvents(events: readonly LiveMessage[]): void {
    if (events.some(({ type }) => type === 'resync')) return void this.#readAll()
    this.agentActivities.applyEvents(events)
    const before = this.state.get()
    const told = withFeedEvents(before, events)
    if (told.cache !== before.cache || told.reading) this.set(() => told)
    if (affectsColumns(events)) void this.#readColumns()
  }

  /** A filter, an order, a table and groups require all cards. A column requires only the visible ones. */
  #readNext(): void {
    const state = this.state.get()
    if (this.#isOver || state.reading) return
    const needsAll = state.filter !== '' || state.sort !== 'board' || state.isTable || state.group !== undefined
    const needed = (id: string) => (needsAll ? Infinity : (this.#needed.get(id) ?? 0))
    const page = nextPage(state, this.cursor.columnId, needed)
    if (!page) return
    const request = state.serial
    this.state.set(withRequest({ ...state, serial: request + 1 }, request))
    void this.#ask(() => client.cards.list({ projectId: this.projectId, ...page }))
      .then(cards => this.set(now => withAnswer(now, { request, ...page, cards })))
      // The column was probably deleted: its event reloads the columns.
      .catch((error: unknown) => {
        this.state.update(now => (now.reading?.request === request ? { ...now, reading: undefined } : now))
        showError(error)
      })
  }

  #ask<T>(read: () => Promise<T>): Promise<T> {
    return untilReached(read, () => this.#isOver)
  }
}

/** Reads the columns of a board, or of all boards if none is selected or the board was deleted. */
const columnsOf = (projectId: string, boardId: string | undefined): Promise<Column[]> =>
  boardId === undefined
    ? client.columns.list({ projectId })
    : client.columns.list({ projectId, boardId: Number(boardId) }).catch((error: unknown) => {
        if (error instanceof ApiFailure && error.code === 'BOARD_NOT_FOUND') return client.columns.list({ projectId })
        throw error
      })
