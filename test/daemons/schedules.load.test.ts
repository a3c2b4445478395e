import { beforeAll, describe, expect, it } from 'vitest'
import { compare, isoOf, look, modelOf, zones, type Model, type Rule } from '../schedules/year.ts'
import type { TestBoard } from '../support/servers/testBoard.ts'
import { retryingClient } from '../support/servers/writeRetry.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { isSharable, startSharing, type Sharing } from './sharing.ts'

const months = [2, 3, 9, 10]
/** On each Sunday of the months with clock changes, at the hours of the changes. */
const rules = zones.map((zone): Rule => ({
  name: zone,
  zone,
  cron: '10,40 1-2 * 3,4,10,11 0',
  matches: wall =>
    [10, 40].includes(wall.getUTCMinutes()) &&
    [1, 2].includes(wall.getUTCHours()) &&
    months.includes(wall.getUTCMonth()) &&
    wall.getUTCDay() === 0,
  overlap: 'add',
  catchUp: 'none',
}))
/** The number of times after which the daemon that runs schedules ends, and the other one takes over. */
const takeovers = [40, 120, 200]

describe.skipIf(!isSharable)('schedules, with two daemons of one machine', () => {
  let nowMs = Date.parse('2026-01-01T00:00:00Z')
  let sharing: Sharing
  let boards: TestBoard[]
  const join = () => sharing.join('one', { clock: () => new Date(nowMs) })
  const clientOf = ({ client }: TestBoard) => retryingClient(client)
  const isDone = async (projectId: string, models: readonly Model[]) => {
    await Promise.all(boards.map(({ server }) => server.app.timer.reconcile()))
    const shown = await clientOf(boards[0]!)
      .schedules.list({ projectId })
      .catch(() => undefined)
    if (
      !shown ||
      models.some(({ lastRunMs }, at) => (shown[at]!.lastRunAt ?? '') < (lastRunMs ? isoOf(lastRunMs) : ''))
    )
      return false
    for (const [at, model] of models.entries()) compare(model, shown[at]!)
    return true
  }
  const works = ({ server }: TestBoard) => server.app.membership.has('machine')

  beforeAll(async () => {
    sharing = await startSharing()
    boards = [await join(), await join()]
    await eventually('the duties', () => boards.some(works))
  })

  it('run once each, across clock changes and the end of the daemon that runs them', async () => {
    const client = clientOf(boards[0]!)
    const { folder } = boards[0]!
    const { id: projectId } = await client.projects.create({ name: 'shared', path: folder('shared') })
    const models = rules.map(modelOf)
    for (const { name, cron, zone: timeZone, overlap, catchUp } of rules) {
      const template = { title: `${name} {date}` }
      await client.schedules.create({ projectId, name, cron, timeZone, overlap, catchUp, template })
    }
    const moments = [...new Set(models.flatMap(({ dues }) => dues))].sort((a, b) => a - b)
    for (const [at, momentMs] of moments.entries()) {
      if (takeovers.includes(at)) {
        const working = boards.findIndex(works)
        await boards[working]!.server.stop()
        boards = boards.toSpliced(working, 1)
        await eventually('the other one to take over', () => boards.some(works), 15_000)
        boards.push(await join())
      }
      nowMs = momentMs
      for (const model of models) look(model, momentMs)
      // A daemon that loses its lease on a busy machine starts over, and the other one runs the due schedules. The clock is stopped in that time.
      await eventually(`what is due at ${new Date(momentMs).toISOString()}`, () => isDone(projectId, models), 15_000)
    }
    const made = await clientOf(boards[0]!).cards.list({ projectId, limit: 1000 })
    expect(made.map(({ title }) => title).sort()).toEqual(models.flatMap(model => model.made).sort())
    expect(made.length).toBeGreaterThan(200)
  }, 120_000)
})
