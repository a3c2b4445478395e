import { describe, expect, test } from 'vitest'
import { lastDone, withChange, withMoveRefused, withMovesForced, withUndone } from '../../src/boardModel/changes.ts'
import type { Changing, Place } from '../../src/boardModel/changes.ts'
import type { ShownBoard } from '../../src/boardModel/shownBoard.ts'

const board = { columns: [{ id: 'a', ids: ['1', '2', '3'] }] } as unknown as ShownBoard
const start: Changing = { cache: undefined!, moves: [], undos: [], redos: [], serial: 1 }
const moved = (state: Changing, ...ids: string[]) => {
  const places = ids.map((cardId): Place => ({ cardId, columnId: 'b', position: 0 }))
  return withChange(state, board, { type: 'move', places, text: `card ${ids.join()} to b` })
}
const undone = (state: Changing) => withUndone(state)?.moves.map(({ cardId, columnId }) => `${cardId} to ${columnId}`)

describe('the last change', () => {
  test('omits refused moves, and is undone without them', () => {
    const { state, moves } = moved(moved(start, '1').state, '2', '3')
    const once = withMoveRefused(state, moves[0]!.id)
    expect(undone(once)).toEqual(['3 to a'])
    const twice = withMoveRefused(once, moves[1]!.id)
    expect(lastDone(twice)?.text).toBe('card 1 to b')
    expect(undone(twice)).toEqual(['1 to a'])
    expect(withUndone(twice)?.state.undos).toEqual([])
  })

  test('includes moves that are repeated with force', () => {
    const { state, moves } = moved(start, '2')
    const refused = withMoveRefused(state, moves[0]!.id)
    expect(lastDone(refused)).toBeUndefined()
    const forced = withMovesForced(refused, moves)
    expect(forced.moves).toEqual(moves)
    expect(undone(forced)).toEqual(['2 to a'])
  })
})
