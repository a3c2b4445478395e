import { describe, expect, test } from 'vitest'
import { splitReferences } from '../../src/boardModel/cardReferences.ts'

describe('references to cards in a text', () => {
  test.each([
    ['', []],
    ['no card', ['no card']],
    ['#12', [{ cardId: '12' }]],
    ['see #1, #23.', ['see ', { cardId: '1' }, ', ', { cardId: '23' }, '.']],
    ['(#7)', ['(', { cardId: '7' }, ')']],
    ['Straße#7 a#1 _#1', ['Straße#7 a#1 _#1']],
    ['#0 #01 #a #1a #1_ #', ['#0 #01 #a #1a #1_ #']],
    ['&#12; /#3 ##4', ['&#12; /#3 ##4']],
    ['#1234567890', ['#1234567890']],
  ])('%j is split into %j', (text, parts) => {
    expect(splitReferences(text)).toEqual(parts)
  })
})
