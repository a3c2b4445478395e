import fc from 'fast-check'
import { expect, test } from 'vitest'
import { defaultUserSettings } from '../../src/contract/accounts/defaultUserSettings.ts'
import { defaultShortcuts } from '../../src/contract/accounts/shortcuts.ts'
import type { LiveMessage } from '../../src/client/socket.ts'
import { initialModel } from '../../cli/ui/state/initial.ts'
import type { Cmd, Model, Msg } from '../../cli/ui/state/model.ts'
import { update } from '../../cli/ui/state/update.ts'
import type { Card, Column } from '../../src/boardModel/cardCache.ts'

const columnIds = ['1', '2', '3']
const pageSize = 5
type Operation = {
  kind: 'create' | 'move' | 'archive' | 'delete' | 'rename' | 'attach'
  card: number
  column: number
  at: number
}
type Happening = { do: Operation } | { do: 'serve' | 'answer' | 'dispatch' | 'break' }

const operations = fc.record({
  kind: fc.constantFrom('create', 'move', 'move', 'move', 'archive', 'delete', 'rename', 'attach'),
  card: fc.nat(),
  column: fc.nat(2),
  at: fc.nat(30),
})
const steps = (['serve', 'answer', 'dispatch'] as const).map(step => ({
  weight: 4,
  arbitrary: fc.constant({ do: step }),
}))
const happenings = fc.oneof({ weight: 8, arbitrary: fc.record({ do: operations }) }, ...steps)
const brokenHappenings = fc.oneof({ weight: 8, arbitrary: fc.record({ do: operations }) }, ...steps, {
  weight: 1,
  arbitrary: fc.constant({ do: 'break' as const }),
})

/** A miniature server: it numbers its events, and reads pages at random times. */
class Server {
  readonly columns = new Map(columnIds.map(id => [id, [] as string[]]))
  readonly cards = new Map<string, Card>()
  readonly events: LiveMessage[] = []

  do({ kind, card: number, column, at }: Operation): void {
    const columnId = columnIds[column]!
    const known = [...this.cards.values()].filter(({ position }) => position !== null)
    const card = known[number % Math.max(1, known.length)]
    if (kind === 'create') return this.#create(columnId)
    if (!card) return
    const from = { columnId: card.columnId, position: this.columns.get(card.columnId)!.indexOf(card.id) }
    if (kind === 'rename')
      return this.#dispatch('card.updated', this.#change(card, { title: `Renamed ${this.events.length}` }))
    if (kind === 'attach') {
      const attachmentCount = at
      this.cards.set(card.id, { ...card, attachmentCount })
      return this.#dispatch('attachment.created', { id: '1', cardId: card.id, attachmentCount })
    }
    this.columns.get(card.columnId)!.splice(from.position, 1)
    if (kind === 'delete') {
      this.cards.delete(card.id)
      return this.#dispatch('card.deleted', { id: card.id, columnId: card.columnId })
    }
    if (kind === 'archive')
      return this.#dispatch('card.archived', this.#change(card, { position: null, archivedAt: 'now' }))
    const ids = this.columns.get(columnId)!
    ids.splice(at, 0, card.id)
    const position = ids.indexOf(card.id)
    this.#dispatch('card.moved', { ...this.#change(card, { columnId, position }), from, to: { columnId, position } })
  }

  page(columnId: string, offset: number): Card[] {
    return this.columns
      .get(columnId)!
      .slice(offset, offset + pageSize)
      .map(id => this.cards.get(id)!)
  }

  list(): Column[] {
    return columnIds.map((id, position) => ({
      id,
      name: id,
      columnType: 'backlog',
      position,
      boardId: '1',
      prompt: '',
      agent: null,
      profile: null,
      model: null,
      mode: null,
      effort: null,
      wipLimit: null,
      pull: false,
      mergedColumnId: null,
      closedColumnId: null,
      cardCount: this.columns.get(id)!.length,
    }))
  }

  #create(columnId: string): void {
    const ids = this.columns.get(columnId)!
    const id = String(this.events.length + this.cards.size + 1000)
    ids.push(id)
    const card = {
      id,
      columnId,
      title: id,
      position: ids.length - 1,
      version: 1,
      archivedAt: null,
      labels: [],
      status: 'idle',
      unread: false,
      attachmentCount: 0,
      commentCount: 0,
    } as unknown as Card
    this.cards.set(id, card)
    this.#dispatch('card.created', card)
  }

  #change(card: Card, change: Partial<Card>): Card {
    const changed = { ...card, ...change, version: card.version + 1 }
    this.cards.set(card.id, changed)
    return changed
  }

  #dispatch(type: string, data: unknown): void {
    this.events.push({ type, data, seq: this.events.length + 1, projectId: '1', at: '' } as LiveMessage)
  }
}

/** The model with a connection to the server on which every message takes time. */
class Client {
  model: Model
  readonly #server: Server
  #asked: Cmd[] = []
  #answers: Msg[] = []
  #told = 0

  constructor(server: Server) {
    this.#server = server
    this.model = initialModel(
      {
        project: { id: '1', name: 'p' },
        boards: [],
        boardId: '1',
        columns: server.list(),
        pages: columnIds.map(id => server.page(id, 0)),
        limit: pageSize,
        settings: defaultUserSettings,
        shortcuts: defaultShortcuts,
      },
      { width: 100, height: 30 },
    )
    this.#told = server.events.length
    this.take({ type: 'subscribed' })
  }

  take(msg: Msg): void {
    const { model, cmds } = update(this.model, msg)
    this.model = model
    this.#asked.push(...cmds)
  }

  /** Performs the pending read of the server. */
  serve(): boolean {
    const cmd = this.#asked.shift()
    if (cmd?.type === 'page')
      this.#answers.push({
        type: 'page',
        page: { ...cmd, limit: pageSize, cards: this.#server.page(cmd.columnId, cmd.offset) },
      })
    if (cmd?.type === 'columns')
      this.#answers.push({ type: 'columns', boards: [], boardId: '1', columns: this.#server.list() })
    return cmd !== undefined
  }

  answer(): boolean {
    const answer = this.#answers.shift()
    if (answer) this.take(answer)
    return answer !== undefined
  }

  dispatch(): boolean {
    const events = this.#server.events.slice(this.#told, (this.#told += 3))
    this.#told = Math.min(this.#told, this.#server.events.length)
    if (events.length > 0) this.take({ type: 'events', events })
    return events.length > 0
  }

  /** The server has no events since then. */
  break(): void {
    this.#told = this.#server.events.length
    this.take({ type: 'events', events: [{ type: 'resync', data: {}, seq: this.#told, projectId: '1', at: '' }] })
  }
}

test("after any interleaving of reads, changes and events, the board equals the server's", () => {
  fc.assert(
    fc.property(
      fc.array(operations, { minLength: 5, maxLength: 60 }),
      fc.oneof(fc.array(happenings, { maxLength: 60 }), fc.array(brokenHappenings, { maxLength: 60 })),
      (before, all: Happening[]) => {
        const server = new Server()
        for (const operation of before) server.do({ ...operation, kind: 'create' })
        const client = new Client(server)
        for (const happening of all) {
          if (typeof happening.do === 'object') server.do(happening.do)
          else client[happening.do]()
        }
        for (let quiet = false; !quiet;) quiet = ![client.dispatch(), client.serve(), client.answer()].includes(true)
        for (const { id, ids, total, isWhole } of client.model.cache.columns) {
          expect(ids).toEqual(server.columns.get(id))
          expect([total, isWhole]).toEqual([ids.length, true])
        }
        const shown = [...client.model.cache.cards.values()].sort((a, b) => Number(a.id) - Number(b.id))
        expect(
          shown.map(({ id, title, columnId, version, attachmentCount }) => [
            id,
            title,
            columnId,
            version,
            attachmentCount,
          ]),
        ).toEqual(
          [...server.cards.values()]
            .filter(({ position }) => position !== null)
            .sort((a, b) => Number(a.id) - Number(b.id))
            .map(({ id, title, columnId, version, attachmentCount }) => [
              id,
              title,
              columnId,
              version,
              attachmentCount,
            ]),
        )
      },
    ),
    { numRuns: Math.max(300, Number(process.env.BOARD_TEST_ROUNDS ?? 0)) },
  )
})
