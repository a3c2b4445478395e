import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, type ApiFailure } from '../../src/client/index.ts'
import { hideAgents } from '../support/servers/testBoard.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import { expectQuick, memoryMiB, shown, shownAnswers, startProbe, watchMemory } from './measure.ts'

const burst = 200
const quickMs = 100
const maxMoreMiB = 150
const email = 'ada@example.org'
const password = 'correct horse battery staple'

const root = mkdtempSync(join(tmpdir(), 'board-load-sign-ins-'))
const board = boardProcess(join(root, 'data'), { HOME: root })
beforeAll(async () => {
  hideAgents(join(root, 'data'))
  await board.start()
  await board.client.auth.setup({ email, password })
})
afterAll(() => clearAway(board, root))

/** Sends all sign-ins of a burst concurrently. Returns the result of each, and how many ms it took. */
async function signIn(each: (at: number) => { email: string; password: string }): Promise<{
  ends: string[]
  tookMs: number[]
  more: number
  answers: Awaited<ReturnType<Awaited<ReturnType<typeof startProbe>>['end']>>
}> {
  const stranger = createClient({ url: board.url, timeoutMs: 120_000 })
  const before = memoryMiB(board.pid)
  const [endWatch, probe, began] = [watchMemory(board.pid), await startProbe(board), performance.now()]
  const tookMs: number[] = []
  const ends = await Promise.all(
    Array.from({ length: burst }, async (_, at) => {
      const end = await stranger.auth.login(each(at)).then(
        () => 'in',
        ({ code }: ApiFailure) => code,
      )
      tookMs.push(performance.now() - began)
      return end
    }),
  )
  return { ends, tookMs, more: endWatch() - before, answers: await probe.end() }
}

test(`${burst} concurrent sign-ins all succeed, and keep the server responsive and small`, async () => {
  const { ends, tookMs, more, answers } = await signIn(() => ({ email, password }))
  process.stdout.write(
    `${burst} sign-ins at once: each after ${shown(tookMs)}; ${more.toFixed(0)} MiB more; ${shownAnswers(answers)}, aim ${quickMs} ms\n`,
  )
  expect(new Set(ends)).toEqual(new Set(['in']))
  expectQuick(answers, quickMs)
  expect(more).toBeLessThan(maxMoreMiB)
})

test(`${burst} concurrent wrong ones, with as many names, are rejected as quickly`, async () => {
  const { ends, tookMs, more, answers } = await signIn(at => ({ email: `nobody${at}@example.org`, password }))
  process.stdout.write(
    `${burst} wrong sign-ins at once: each after ${shown(tookMs)}; ${more.toFixed(0)} MiB more; ${shownAnswers(answers)}, aim ${quickMs} ms\n`,
  )
  expect(ends.filter(end => end === 'INVALID_CREDENTIALS').length).toBeLessThanOrEqual(12)
  expect(new Set(ends)).toEqual(new Set(['INVALID_CREDENTIALS', 'RATE_LIMITED']))
  expectQuick(answers, quickMs)
})
