import { describe } from 'vitest'
import { automaticWays } from '../support/contract/automaticStarts.ts'
import { testApps, testKeys, useTrialBoard } from '../support/contract/startTrials.ts'

useTrialBoard()

describe('what an API key does to a card that starts without a request for it', () => {
  testKeys(automaticWays)
})
describe('what a connected app does to such a card', () => {
  testApps(automaticWays, ['work', 'run'])
})
