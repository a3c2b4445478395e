import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard, type Card } from '../support/agents/agentBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
beforeAll(async () => void (board = await startFolderBoard({ well: { fixture: 'well-behaved' } })))
afterAll(() => board.close())

/** For each card, the earlier cards it waits for, and the user's action on it. */
const graph = fc.array(
  fc.record({
    blockers: fc.array(fc.nat(), { maxLength: 3 }),
    column: fc.constantFrom('backlog' as const, 'active' as const),
    isCompletedByHand: fc.integer({ min: 0, max: 4 }).map(one => one === 0),
  }),
  { minLength: 3, maxLength: 9 },
)

test('cards in auto mode run once each, and none before its blockers', async () => {
  await fc.assert(
    fc.asyncProperty(graph, async nodes => {
      const cards: Card[] = []
      for (const [at, { blockers, column }] of nodes.entries()) {
        const blockedBy = at === 0 ? [] : [...new Set(blockers.map(each => cards[each % at]!.id))]
        const isBlocked = blockedBy.length > 0
        cards.push(
          await board.client.cards.create({
            projectId: board.projectId,
            title: `card ${at}`,
            agent: 'well',
            autoMode: true,
            columnId: board.columns[isBlocked ? column : 'backlog'],
            blockedBy,
          }),
        )
      }
      const byHand = cards.filter((_, at) => nodes[at]!.isCompletedByHand)
      const place = ({ id }: Card) => ({ projectId: board.projectId, cardId: id })
      await Promise.all([
        ...cards
          .filter(card => card.blockedBy.length === 0 && !byHand.includes(card))
          .map(card => board.client.cards.move({ ...place(card), columnId: board.columns.active })),
        ...byHand.map(card => board.client.cards.complete(place(card))),
      ])
      for (const { id } of cards)
        await board.until(id, 'done', card => card.columnType === 'done' && !card.hasActiveAgent)

      for (const card of cards) {
        const { length } = await board.client.agents.history(place(card))
        if (byHand.includes(card)) expect(length).toBeLessThanOrEqual(1)
        else expect(length, card.title).toBe(1)
      }
      await expectInOrder(cards)
    }),
    { numRuns: 25 },
  )
})

/** Checks the events in order: no card was queued before all of its blockers had moved into a done column. */
async function expectInOrder(cards: readonly Card[]): Promise<void> {
  const last = cards.at(-1)!.id
  await eventually('the events of the last card', () =>
    board.socket.messages.some(
      ({ type, data }) => type.startsWith('card.') && data.id === last && data.columnType === 'done',
    ),
  )
  const done = new Set<string>()
  for (const { type, data } of board.socket.messages) {
    if (type.startsWith('card.') && data.columnType !== undefined)
      if (data.columnType === 'done') done.add(data.id)
      else done.delete(data.id)
    if (type !== 'agent.status' || data.status !== 'queued') continue
    const card = cards.find(({ id }) => id === data.cardId)
    expect(card?.blockedBy.filter(id => !done.has(id)) ?? [], `open before card ${data.cardId} was queued`).toEqual([])
  }
}
