import { expect, test } from 'vitest'
import { emptyCache, withColumns, type Column } from '../../src/boardModel/cardCache.ts'
import { countStarts } from '../../src/boardModel/changes.ts'

const column = (id: string, columnType: Column['columnType'], position: number): Column => ({
  id,
  name: id,
  columnType,
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
  cardCount: 2,
})

/** None of its columns has been read. */
const cache = withColumns(emptyCache, [column('active', 'active', 0), column('done', 'done', 1)])
const place = (columnId: string) => ({ cardId: '7', columnId, position: 0 })

test('an unknown card starts its agent in an active column, even if a column has not been read', () => {
  expect(countStarts({ cache, moves: [] }, [place('active')])).toBe(1)
  expect(countStarts({ cache, moves: [] }, [place('done')])).toBe(0)
})

test('a card that is being moved counts as arrived', () => {
  const moves = [{ id: 1, ...place('active') }]
  expect(countStarts({ cache, moves }, [place('active')])).toBe(0)
  expect(countStarts({ cache, moves: [{ id: 1, ...place('done') }] }, [place('active')])).toBe(1)
})
