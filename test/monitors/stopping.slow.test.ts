import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually, slowdown } from '../support/waiting/eventually.ts'
import { startMonitorBoard, untilGone, untilThere, type ActiveCard, type MonitorBoard } from './monitorBoard.ts'

let board: MonitorBoard
beforeAll(async () => {
  board = await startMonitorBoard()
})
afterAll(() => board.close())

let count = 0
/** A run with grandchildren in separate sessions, one of which ignores TERM. */
async function going(card: ActiveCard): Promise<{ id: string; mark: string }> {
  const mark = `board-monitor-${process.pid}-${++count}`
  const stubborn = `sh -c 'trap "" TERM HUP; while :; do sleep 0.1; done' ${mark}`
  const { id } = await board.create(
    card,
    `setsid ${stubborn} & (setsid sh -c 'setsid ${stubborn.replaceAll("'", '"').replace('""', "''")} & sleep 100; :' ${mark} &); sh -c 'sleep 100; :' ${mark}`,
  )
  await untilThere(mark, 3)
  await board.until(id, 'its run', ({ status }) => status === 'running')
  return { id, mark }
}

describe('a run is ended with all its descendants within 5 s, in any session', () => {
  it.concurrent('when the monitor is deleted, with an immediate response', async () => {
    const card = await board.newCard()
    const { id, mark } = await going(card)
    const before = performance.now()
    await board.as(card.token).monitors.delete({ ...card.ref, monitorId: id })
    expect(performance.now() - before).toBeLessThan(1000 * slowdown())
    await untilGone(mark)
    expect(await board.as(card.token).monitors.list(card.ref)).toEqual([])
  })

  it.concurrent('when a user deletes it', async () => {
    const { id, mark } = await going(await board.newCard())
    await board.client.monitors.deleteProject({ projectId: board.projectId, monitorId: id })
    await untilGone(mark)
  })

  it.concurrent('when its project is deleted', async () => {
    const { projectId } = await board.newProject()
    const { mark } = await going(await board.newCard(projectId))
    await board.client.projects.delete({ id: projectId })
    await untilGone(mark)
  })

  const ways: Array<[string, (card: ActiveCard) => Promise<unknown>, ((card: ActiveCard) => Promise<unknown>)?]> = [
    [
      'moves out of the active column',
      ({ ref }) => board.client.cards.move({ ...ref, columnId: board.columns.backlog }),
      ({ ref }) => board.client.cards.move({ ...ref, columnId: board.columns.active }),
    ],
    [
      'is completed',
      ({ ref }) => board.client.cards.complete(ref),
      ({ ref }) => board.client.cards.move({ ...ref, columnId: board.columns.active }),
    ],
    ['is archived', ({ ref }) => board.client.cards.archive(ref), ({ ref }) => board.client.cards.unarchive(ref)],
    ['is deleted', ({ ref }) => board.client.cards.delete(ref), ({ ref }) => board.client.cards.restore(ref)],
  ]
  it.concurrent.each(ways)('when its card %s; it resumes when the card is back', async (_, leave, comeBack) => {
    const card = await board.newCard()
    const { id, mark } = await going(card)
    await leave(card)
    await untilGone(mark)
    const row = () =>
      board.server.app.db.get<{ status: string; next: string | null }>(
        'SELECT status, next_run_at AS next FROM monitors WHERE id = ?',
        [Number(id)],
      )
    await eventually('the pause', async () => (await row())!.status === 'paused')
    expect(await row()).toMatchObject({ status: 'paused', next: null })
    await comeBack!(card)
    await untilThere(mark, 3)
    await board.client.monitors.deleteProject({ projectId: board.projectId, monitorId: id })
    await untilGone(mark)
  })
})

it('a paused monitor reports it, keeps its last output, and does not run', async () => {
  const card = await board.newCard()
  const { id } = await board.create(card, 'echo here')
  await board.until(id, 'a run', ({ status }) => status === 'ok')
  await board.client.cards.move({ ...card.ref, columnId: board.columns.done })
  const paused = await board.until(id, 'the pause', ({ status }) => status === 'paused')
  expect(paused).toMatchObject({ exitCode: 0, output: 'here\n', nextRunAt: null })
  await board.client.cards.move({ ...card.ref, columnId: board.columns.active })
  await board.until(
    id,
    'another run',
    ({ status, lastStartedAt }) => status === 'ok' && lastStartedAt! > paused.lastStartedAt!,
  )
})
