import { randomInt } from 'node:crypto'
import { afterAll, describe, expect, test } from 'vitest'
import { isSharable } from '../daemons/sharing.ts'
import type { FakeForge } from '../support/forge/fakeForge.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { createDice } from './dice.ts'
import { clearWays, end, goTheWay, steps } from './issueWay.ts'
import { takeovers, twoDaemons, type Takeover } from './wayServers.ts'

/** BOARD_TEST_ROUNDS=5 for the long run: the number of runs in which a daemon is killed at every step, and at each step alone. BOARD_TEST_SEED repeats a random choice. */
const rounds = Number(process.env.BOARD_TEST_ROUNDS ?? 1)
const isLong = process.env.BOARD_TEST_ROUNDS !== undefined
const seed = Number(process.env.BOARD_TEST_SEED ?? randomInt(2 ** 31))
const dice = createDice(seed)
const taken: Takeover[] = []
const draw = (): Takeover => {
  taken.push(dice.pick(takeovers))
  return taken.at(-1)!
}
const going = { servers: (root: string) => twoDaemons(root, dice, draw), dice }
const inTurns = Array.from({ length: rounds }, (_, round) => round)
/** That many kills of one way take about 15 s, because each time the lease of the dead daemon must expire. */
const [first, second] = [dice.between(0, 3), dice.between(4, steps - 1)]
afterAll(clearWays)

describe.skipIf(!isSharable)('two daemons on one libSQL server', () => {
  test(`an issue is merged, and closed once, when the daemon at work is killed at ${isLong ? 'every step' : `steps ${first} and ${second}`} (seed ${seed})`, async () => {
    const isKilledAt = (step: number) => isLong || step === first || step === second
    for (const _ of inTurns) expect(await goTheWay({ ...going, isKilledAt })).toEqual(end)
    process.stdout.write(`After ${taken.length} kills of seed ${seed}, these daemons continued: ${taken.join(', ')}\n`)
  })

  test('a merged request closes its issue once if the daemon that sends the change to the forge wakes up after another has taken over', async () => {
    const servers = (root: string) => twoDaemons(root, dice, () => 'the paused one after the other')
    const match = /^POST .*issues\/1\/comments/
    const begun = (forge: FakeForge) => forge.fail({ match, delayMs: 1000, times: 1 })
    const moment = ({ requests }: FakeForge) =>
      eventually('the request to the forge', () => requests.some(({ method, path }) => match.test(`${method} ${path}`)))
    const isKilledAt = (step: number) => step === steps - 1
    expect(await goTheWay({ ...going, servers, begun, moment, isKilledAt })).toEqual(end)
  })

  test.each(isLong ? Array.from({ length: steps }, (_, step) => step) : [])(
    'the final state is the same if the working daemon is killed only at step %i',
    async step => {
      for (const _ of inTurns) expect(await goTheWay({ ...going, isKilledAt: at => at === step })).toEqual(end)
    },
  )
})
