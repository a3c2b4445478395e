import { randomUUID } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { configure, makeRepository } from '../support/agents/agentBoard.ts'
import { figuresOf } from '../support/run/writtenFigures.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { openSocket } from '../support/receivers/liveSocket.ts'
import { childrenOf, processesWith, readProcessFile } from '../support/processes/processFiles.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import { createDice } from './dice.ts'
import { heapMiB, memoryMiB, openFiles, percentile, shownAnswers, startProbe } from './measure.ts'

/** BOARD_TEST_MINUTES=30 for the long run. */
const isLong = process.env.BOARD_TEST_MINUTES !== undefined
const minutes = Number(process.env.BOARD_TEST_MINUTES ?? 0.15)
const warmUpMs = isLong ? 60_000 : 3000
/** The maximum that can remain: caches of paths, statements and times are limited. */
const [maxMoreHeapMiB, maxMoreFiles] = [isLong ? 10 : 6, 3]

/** The timeout of any step on a busy machine. */
const patienceMs = 60_000

const root = mkdtempSync(join(tmpdir(), 'board-load-mixed-'))
const dataDir = join(root, 'data')
const mark = randomUUID()
const dice = createDice(1)
const [email, password] = ['ada@example.org', 'correct horse battery staple']
const attached = join(root, 'attached')
// The inspector reports the heap after a collection.
const board = boardProcess(dataDir, { HOME: root, NODE_OPTIONS: '--inspect=127.0.0.1:0' })
let projectId: string
let columns: string[]
let scriptId: string
const note = figuresOf('test/e2e/loadMixed.load.test.ts', { BOARD_TEST_MINUTES: process.env.BOARD_TEST_MINUTES })

beforeAll(async () => {
  configure(dataDir, { good: { fixture: 'well-behaved' } }, mark)
  writeFileSync(attached, 'x'.repeat(200_000))
  await board.start()
  await board.client.auth.setup({ email, password })
  projectId = (await board.client.projects.create({ name: 'Mixed', path: makeRepository(join(root, 'repository')) })).id
  columns = (await board.client.columns.list({ projectId })).map(({ id }) => id)
  scriptId = (await board.client.scripts.create({ projectId, name: 'Quick', command: 'sleep 0.1; echo done' })).id
  const { id: cardId } = await board.client.cards.create({
    projectId,
    title: 'Watched',
    columnId: columns[1],
    deferred: true,
  })
  const { token } = await board.client.agents.token({ projectId, cardId })
  for (let left = 4; left > 0; left--)
    await createClient({ url: board.url, token }).monitors.create({
      projectId,
      cardId,
      command: 'sleep 0.2; echo ok',
      intervalSecs: 10,
      allowUnsandboxed: true,
    })
})
afterAll(() => clearAway(board, root))

/** Operations that are repeated, each after a pause of `pauseMs`. Every operation cleans up its records. */
const works: Record<string, { pauseMs: number; work: () => Promise<unknown> }> = {
  cards: {
    pauseMs: 10,
    work: async () => {
      const { id: cardId } = await board.client.cards.create({
        projectId,
        title: 'Mixed',
        labels: ['load'],
        prompt: 'x'.repeat(1000),
      })
      const ref = { projectId, cardId }
      await board.client.cards.move({ ...ref, columnId: columns[2]!, position: 0 })
      await board.client.cards.update({ ...ref, title: `Mixed ${dice.between(1, 1e6)}` })
      await board.client.cards.archive(ref)
      await board.client.cards.delete(ref)
    },
  },
  attachments: {
    pauseMs: 100,
    work: async () => {
      const { id: cardId } = await board.client.cards.create({ projectId, title: 'Attached' })
      const { id: attachmentId } = await board.client.attachments.create({
        projectId,
        cardId,
        file: { path: attached },
      })
      const { body } = await board.client.attachments.download({ attachmentId })
      for await (const _ of body) {
        /* The body is read to its end. */
      }
      await board.client.attachments.delete({ attachmentId })
      await board.client.cards.delete({ projectId, cardId })
    },
  },
  reads: {
    pauseMs: 10,
    work: async () => {
      await board.client.cards.list({ projectId, limit: 50 })
      await board.client.search.find({ q: 'mixed' })
      await board.client.projects.stats({ id: projectId })
    },
  },
  refusals: {
    pauseMs: 20,
    work: () =>
      board.client.cards.get({ projectId, cardId: '999999' }).catch(() => {
        /* The response has no body. */
      }),
  },
  scripts: {
    pauseMs: 300,
    work: () =>
      board.client.scripts
        .run({ projectId, scriptId })
        .catch((error: { code?: string }) => expect(error.code).toBe('SCRIPT_ALREADY_RUNNING')),
  },
  signIns: {
    pauseMs: 500,
    work: async () => {
      const { token } = await createClient({ url: board.url }).auth.login({ email, password })
      await createClient({ url: board.url, token }).auth.logout()
    },
  },
  sockets: {
    pauseMs: 50,
    work: async () => {
      const live = await openSocket(board.url, board.token)
      live.send({ type: 'subscribe', payload: { projectId } })
      await eventually('the subscription', () => live.messages.some(({ type }) => type === 'subscribed'), patienceMs)
      live.close()
      await live.untilClosed(patienceMs)
    },
  },
  agents: {
    pauseMs: 1000,
    work: async () => {
      const { id: cardId } = await board.client.cards.create({
        projectId,
        title: 'Run',
        prompt: 'Do it.',
        columnId: columns[1],
        agent: 'good',
        useWorktree: false,
      })
      await eventually(
        'the end of its agent',
        async () => !(await board.client.cards.get({ projectId, cardId })).hasActiveAgent,
        patienceMs,
      )
      await board.client.cards.delete({ projectId, cardId, force: true })
    },
  },
  backups: {
    pauseMs: 10_000,
    work: async () =>
      board.client.backups.delete({
        filename: (await createClient({ url: board.url, token: board.token, timeoutMs: 0 }).backups.create()).filename,
      }),
  },
  exports: {
    pauseMs: 10_000,
    work: async () => {
      for await (const _ of (await board.client.transfers.exportProject({ id: projectId })).body) {
        /* The body is read to its end. */
      }
    },
  },
}

/** Runs everything concurrently for this time. Returns how often each work ran. */
async function load(durationMs: number): Promise<Record<string, number>> {
  const endsAt = performance.now() + durationMs
  const done = await Promise.all(
    Object.entries(works).map(async ([name, { pauseMs, work }]) => {
      let times = 0
      for (; performance.now() < endsAt; times++) {
        await work()
        await delay(pauseMs)
      }
      return [name, times] as const
    }),
  )
  return Object.fromEntries(done)
}

/** The server's child processes, except the watchdog, which runs as long as the server. */
const children = () =>
  childrenOf(board.pid).filter(pid => !readProcessFile(pid, 'cmdline').includes('board-watchdog')).length
const left = async () => ({
  heap: await heapMiB(board.stderr),
  files: openFiles(board.pid),
  memory: memoryMiB(board.pid),
})

test(
  `after ${minutes} minutes of mixed load the heap, open files and processes are back at their start`,
  async () => {
    await load(warmUpMs)
    await eventually('the end of every process', () => children() + processesWith(mark).length === 0, patienceMs)
    const before = await left()
    const probe = await startProbe(board)
    const done = await load(minutes * 60_000)
    const answers = await probe.end()
    await eventually('the end of every process', () => children() + processesWith(mark).length === 0, patienceMs)
    await eventually(
      'the end of open work',
      () => openFiles(board.pid) <= before.files + maxMoreFiles,
      patienceMs,
    ).catch(() => {
      /* Reported below. */
    })
    const after = await left()
    const shown = (what: typeof before) =>
      `heap ${what.heap.toFixed(1)} MiB, ${what.files} open files, ${what.memory.toFixed(0)} MiB resident`
    process.stdout.write(
      `${minutes} minutes of ${Object.entries(done)
        .map(([name, times]) => `${times} ${name}`)
        .join(', ')}: before ${shown(before)}; after ${shown(after)}; ${shownAnswers(answers)}\n`,
    )
    // One is the pipe to the watchdog, which starts with the first process.
    expect(after.files).toBeLessThanOrEqual(before.files + maxMoreFiles + 1)
    expect(after.heap - before.heap).toBeLessThan(maxMoreHeapMiB)
    note('everything at once', minutes, 'minutes')
    for (const [name, times] of Object.entries(done)) note(`… ${name}`, times, 'times')
    note('… heap before', before.heap, 'MiB')
    note('… heap after', after.heap, 'MiB', { atMost: before.heap + maxMoreHeapMiB })
    note('… open files before', before.files)
    note('… open files after', after.files, '', { atMost: before.files + maxMoreFiles + 1 })
    const beside = percentile(answers.machine, 0.99)
    note('… health at the same time, p99', percentile(answers.health, 0.99), 'ms')
    note('… an idle server, p99', beside, 'ms')
  },
  300_000 + minutes * 90_000,
)
