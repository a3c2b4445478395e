import { randomInt } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import { createDice } from './dice.ts'
import { clearWays, end, goTheWay, steps } from './issueWay.ts'
import { oneServer } from './wayServers.ts'

/** BOARD_TEST_ROUNDS=20 for the long run: the number of ways from an issue to its merge for each step. BOARD_TEST_SEED repeats a random choice. */
const rounds = Number(process.env.BOARD_TEST_ROUNDS ?? 1)
const seed = Number(process.env.BOARD_TEST_SEED ?? randomInt(2 ** 31))
const dice = createDice(seed)
const going = { servers: oneServer, dice }
afterAll(clearWays)

test('an issue becomes a card, a branch and a request, and after a failing check and a review it is merged, done and closed', async () => {
  expect(await goTheWay(going)).toEqual(end)
})

test.each(['gitlab', 'gitea', 'command'] as const)('it ends the same with %s', async kind => {
  expect(await goTheWay({ ...going, kind })).toEqual(end)
})

test(`the final state is the same if the server is killed at every step (seed ${seed})`, async () => {
  for (let round = 0; round < rounds; round++) expect(await goTheWay({ ...going, isKilledAt: () => true })).toEqual(end)
})

// In the long run each step is also killed alone, so that no second start can repair its effects.
test.each(rounds > 1 ? Array.from({ length: steps }, (_, step) => step) : [])(
  'the final state is the same if the server is killed only at step %i',
  async step => {
    for (let round = 0; round < rounds; round++)
      expect(await goTheWay({ ...going, isKilledAt: at => at === step })).toEqual(end)
  },
)
