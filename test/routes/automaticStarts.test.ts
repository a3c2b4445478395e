import { describe, expect, test } from 'vitest'
import { automaticWays } from '../support/contract/automaticStarts.ts'
import { answerTo, testApps, useTrialBoard } from '../support/contract/startTrials.ts'

useTrialBoard()

describe('a card that starts without a request for it', () => {
  testApps(
    automaticWays.filter((_, at) => at % 5 === 0),
    ['work'],
  )
  test('is not started by any request of an app with the scope work', () => {
    expect(automaticWays.filter(way => answerTo(way, 'work') === 'starts').map(({ way }) => way)).toEqual([])
  })
})
