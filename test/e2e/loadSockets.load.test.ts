import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hideAgents } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { openRaw, type RawSocket } from '../support/receivers/liveSocket.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import {
  expectQuick,
  memoryMiB,
  nextLine,
  percentile,
  shown,
  shownAnswers,
  startFixture,
  startProbe,
  watchMemory,
} from './measure.ts'

/** BOARD_TEST_SOCKETS=1000 for the full load. */
const isLong = process.env.BOARD_TEST_SOCKETS !== undefined
const sockets = Number(process.env.BOARD_TEST_SOCKETS ?? 400)
const stalledCount = 100
/** The aims. The delay from other processes on the machine is added. */
const [deliveredMs, maxMoreMiB, maxStalledMiB, quickMs] = [500, 60, 120, 100]

const root = mkdtempSync(join(tmpdir(), 'board-load-sockets-'))
const board = boardProcess(join(root, 'data'), { HOME: root })
beforeAll(async () => {
  hideAgents(join(root, 'data'))
  await board.start()
})
afterAll(() => clearAway(board, root))

/** A project with a card, and sockets of another process that follow it. */
async function followed(count: number) {
  const { id: projectId } = await board.client.projects.create({ name: 'Live', path: root })
  const { id: cardId } = await board.client.cards.create({ projectId, title: 'Live' })
  const { child } = await startFixture('followers', [board.url, board.token, projectId, String(count)])
  return {
    projectId,
    cardId,
    end: async () => {
      const told = nextLine(child)
      child.kill('SIGTERM')
      return JSON.parse(await told) as { events: number[]; delaysMs: number[]; closed: number }
    },
  }
}

test(`${sockets} sockets get ten events each, quickly and with little memory`, async () => {
  const events = 10
  await followed(1).then(({ end }) => end())
  const before = memoryMiB(board.pid)
  const endWatch = watchMemory(board.pid)
  const { projectId, cardId, end } = await followed(sockets)
  const opened = memoryMiB(board.pid) - before
  const probe = await startProbe(board)
  for (let number = 0; number < events; number++) {
    await board.client.cards.update({ projectId, cardId, title: `Title ${number}` })
    await delay(200)
  }
  await delay(500)
  const [{ events: heard, delaysMs, closed }, most, answers] = [await end(), endWatch() - before, await probe.end()]
  process.stdout.write(
    `${sockets} sockets, ${events} events each: after ${shown(delaysMs)}, aim ${deliveredMs} ms; ${opened.toFixed(0)} MiB more when open and ${most.toFixed(0)} at most, aim ${maxMoreMiB}; ${shownAnswers(answers)}\n`,
  )
  expect([heard.length, new Set(heard), closed]).toEqual([sockets, new Set([events]), 0])
  expect(Math.max(...delaysMs)).toBeLessThan(deliveredMs + (isLong ? 0 : 10 * percentile(answers.machine, 0.99)))
  expect(most).toBeLessThan(maxMoreMiB)
  await eventually('a server that has forgotten them', async () => /^board_sockets 0$/m.test(await figures()))
})

const figures = async () =>
  (await fetch(`${board.url}/metrics`, { headers: { authorization: `Bearer ${board.token}` } })).text()

/** A client that follows a project and stops reading. */
async function stall(projectId: string): Promise<RawSocket> {
  const raw = await openRaw(board.url, `/api/ws?token=${board.token}`)
  raw.frame(JSON.stringify({ type: 'subscribe', payload: { projectId } }))
  await eventually('the subscription', () => raw.received().includes('subscribed'))
  raw.socket.pause()
  return raw
}

test(`${stalledCount} sockets that stop reading use little memory and are closed, and others get every event quickly`, async () => {
  const [healthy, events, bytes] = [10, 200, 60_000]
  const { projectId, cardId, end } = await followed(healthy)
  const before = memoryMiB(board.pid)
  const endWatch = watchMemory(board.pid)
  const stalled = await Promise.all(Array.from({ length: stalledCount }, () => stall(projectId)))
  const probe = await startProbe(board)
  const began = performance.now()
  for (let number = 0; number < events; number++) {
    await board.client.cards.update({ projectId, cardId, prompt: `${number}:`.padEnd(bytes, 'x') })
    await delay(Math.max(0, began + number * 25 - performance.now()))
  }
  await eventually(
    'a server that has closed them',
    async () => new RegExp(`^board_sockets ${healthy}$`, 'm').test(await figures()),
    20_000,
  )
  const [most, answers, { events: heard, delaysMs, closed }] = [endWatch() - before, await probe.end(), await end()]
  process.stdout.write(
    `${stalledCount} stalled sockets, ${events} events of ${bytes / 1000} kB: ${most.toFixed(0)} MiB more at most, aim ${maxStalledMiB}; ${healthy} healthy ones got theirs after ${shown(delaysMs)}, aim p99 ${quickMs} ms; ${shownAnswers(answers)}\n`,
  )
  expect([heard, closed]).toEqual([Array.from({ length: healthy }, () => events), 0])
  expect(most).toBeLessThan(maxStalledMiB)
  expect(percentile(delaysMs, 0.99)).toBeLessThan(quickMs + 5 * percentile(answers.machine, 0.99))
  expectQuick(answers, quickMs)
  await expectCutOff(stalled)
})

/** A client that reads again finds the end of the connection, without all of the data. */
async function expectCutOff(stalled: readonly RawSocket[]): Promise<void> {
  for (const { socket } of stalled) socket.resume()
  await eventually('the end of each', () => stalled.every(({ socket }) => socket.destroyed))
  for (const { received } of stalled) expect(received().length).toBeLessThan(10 * 2 ** 20)
}
