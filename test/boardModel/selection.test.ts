import { expect, test } from 'vitest'
import { cardRange } from '../../src/boardModel/selection.ts'

test.each([
  ['2', '4', ['2', '3', '4']],
  ['4', '2', ['2', '3', '4']],
  ['3', '3', ['3']],
  ['9', '3', ['3']],
  [undefined, '1', ['1']],
])('the range from %s to %s is %j', (from, to, range) => {
  expect(cardRange(['1', '2', '3', '4', '5'], from, to)).toEqual(range)
})
