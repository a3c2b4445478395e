import { beforeAll, describe, expect, it } from 'vitest'
import { openSocket, type LiveSocket } from '../support/receivers/liveSocket.ts'
import type { TestBoard } from '../support/servers/testBoard.ts'
import { retryingClient } from '../support/servers/writeRetry.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { isSharable, startSharing, type Sharing } from './sharing.ts'

const hourMs = 3_600_000
const start = Date.parse('2026-11-23T08:00:00.000Z')
const cardCount = 60
/** The hours after which the daemon that sends reminders ends, and the other one takes over. */
const takeovers = [12, 40]

describe.skipIf(!isSharable)('due dates, with two daemons on one database', () => {
  let nowMs = start
  let sharing: Sharing
  let boards: TestBoard[]
  const told: LiveSocket[] = []
  const join = () => sharing.join('one', { clock: () => new Date(nowMs) })
  const works = ({ server }: TestBoard) => server.app.membership.has('board')
  const timeAt = (hours: number) => new Date(start + hours * hourMs).toISOString()
  const notices = (socket: LiveSocket) =>
    socket.messages
      .filter(({ type, data }) => type === 'notification' && data.kind === 'due')
      .map(({ data }) => `${data.cardTitle}: ${data.message}`)

  beforeAll(async () => {
    sharing = await startSharing()
    boards = [await join(), await join()]
    await eventually('the duties', () => boards.some(works))
  })

  it('cause one reminder each, even if the daemon that sends them ends', async () => {
    const { token } = await boards[0]!.as().auth.setup({ email: 'ada@example.org', password: 'correct horse' })
    const at = (board: TestBoard) => retryingClient(board.as(token))
    const { id: projectId } = await at(boards[0]!).projects.create({ name: 'p', path: boards[0]!.folder('p') })
    const expected: string[] = []
    for (let number = 0; number < cardCount; number++) {
      const dueAt = timeAt(25 + number)
      const title = `card ${number}`
      await at(boards[number % 2]!).cards.create({ projectId, title, dueAt, deferred: true })
      const shown = dueAt.slice(0, 16).replace('T', ' ')
      expected.push(`${title}: The card is due at ${shown} UTC.`, `${title}: The card was due at ${shown} UTC.`)
    }
    for (const { url } of boards) told.push(await openSocket(url, token))
    const seen = () => [...new Set(told.flatMap(notices))]
    for (let hour = 1; hour <= cardCount + 24; hour++) {
      if (takeovers.includes(hour)) {
        const working = boards.findIndex(works)
        nowMs = start + hour * hourMs
        // The daemon ends while it sends reminders.
        const reminding = boards[working]!.server.app.timer.reconcile()
        await boards[working]!.server.stop()
        await reminding.catch(() => undefined)
        boards = boards.toSpliced(working, 1)
        await eventually('the other one to take over', () => boards.some(works), 15_000)
        boards.push(await join())
        told.push(await openSocket(boards[1]!.url, token))
      }
      nowMs = start + hour * hourMs
      // Every card that is due by then has a reminder, and no other card.
      const due = Math.min(hour, cardCount) + Math.max(0, Math.min(hour - 24, cardCount))
      await eventually(`${due} reminders at hour ${hour}`, async () => {
        await Promise.all(boards.map(({ server }) => server.app.timer.reconcile()))
        return seen().length >= due
      })
      expect(seen()).toHaveLength(due)
    }
    expect(seen().sort()).toEqual(expected.sort())
    // No socket received an event twice.
    for (const socket of told) {
      expect(new Set(notices(socket)).size).toBe(notices(socket).length)
      socket.close()
    }
  }, 120_000)
})
