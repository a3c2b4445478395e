import { spawn, type ChildProcess } from 'node:child_process'
import { randomInt, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createClient, type ApiFailure } from '../../src/client/index.ts'
import { configure, makeRepository } from '../support/agents/agentBoard.ts'
import { quantile } from '../bench/figures.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'
import { follow } from '../support/receivers/liveSocket.ts'
import { startReceiver, type Receiver } from '../support/receivers/webhookReceiver.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import { createDice } from './dice.ts'

/** How often the database is locked. For longer runs: BOARD_TEST_ROUNDS; BOARD_TEST_SEED repeats a random run. */
const rounds = Number(process.env.BOARD_TEST_ROUNDS ?? 3)
const seed = Number(process.env.BOARD_TEST_SEED ?? randomInt(2 ** 31))
/** The documented limit, and the limit on a machine that runs other tests. */
const [aimMs, maxMs] = [250, 1000]

const root = mkdtempSync(join(tmpdir(), 'board-locked-'))
const dataDir = join(root, 'data')
const dice = createDice(seed)
const board = boardProcess(dataDir, { HOME: root }, ['--allow-private-webhooks'])
let other: ChildProcess
let receiver: Receiver
let projectId: string
let columns: string[]
const acknowledged: string[] = []

beforeAll(async () => {
  configure(
    dataDir,
    {
      spoken: { fixture: 'well-behaved' },
      plain: { protocol: 'command', command: ['sh', '-c', 'sleep 0.2; echo done'] },
    },
    randomUUID(),
  )
  receiver = await startReceiver()
  await board.start()
  projectId = (await board.client.projects.create({ name: 'Locked', path: makeRepository(join(root, 'repository')) }))
    .id
  columns = (await board.client.columns.list({ projectId })).map(({ id }) => id)
  other = spawn(process.execPath, [resolve('test/fixtures/lock.mjs'), join(dataDir, 'board.db')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
})
afterAll(async () => {
  other.stdin!.end()
  await clearAway(board, root)
  await receiver.close()
})

async function tell(what: 'take' | 'release'): Promise<void> {
  other.stdin!.write(`${what}\n`)
  await once(other.stdout!, 'data')
}

/** Runs `work` while another program holds the lock. */
async function whileLocked<T>(work: () => Promise<T>): Promise<T> {
  await tell('take')
  try {
    return await work()
  } finally {
    await tell('release')
  }
}

let titles = 0
async function add(): Promise<void> {
  const title = `card ${++titles}`
  await board.client.cards.create({ projectId, title })
  acknowledged.push(title)
}
const addMany = (count: number) => Promise.all(Array.from({ length: count }, add))
const titlesThere = async () => (await board.client.cards.list({ projectId })).map(({ title }) => title).sort()

/** The failure of the write, and its time in milliseconds. */
async function refusalOf(write: () => Promise<unknown>): Promise<{ refusal: Partial<ApiFailure>; tookMs: number }> {
  const beganAt = performance.now()
  const refusal = await write().then(
    () => ({ code: 'nothing' }),
    ({ status, code, retryAfterSecs }: ApiFailure) => ({ status, code, retryAfterSecs }),
  )
  return { refusal, tookMs: performance.now() - beganAt }
}
const busy = { status: 503, code: 'DATABASE_BUSY', retryAfterSecs: 1 }

it('while another program locks the database, all writes are rejected in time with 503 DATABASE_BUSY, and reads are answered', async () => {
  await addMany(20)
  const tookMs = await whileLocked(async () => {
    // The writes arrive while earlier ones wait, so that each is queued behind others.
    const writers = Array.from({ length: 30 }, async (_, at) => {
      await delay(at * 30)
      return refusalOf(() =>
        at % 3
          ? board.client.cards.create({ projectId, title: 'refused' })
          : board.client.columns.create({ projectId, boardId: '1', name: 'Refused', columnType: 'backlog' }),
      )
    })
    const readMs = performance.now()
    expect(await titlesThere()).toEqual([...acknowledged].sort())
    expect(performance.now() - readMs).toBeLessThan(maxMs * slowdown())
    const outcomes = await Promise.all(writers)
    expect(outcomes.map(({ refusal }) => refusal)).toEqual(outcomes.map(() => busy))
    return outcomes.map(each => each.tookMs)
  })
  process.stdout.write(
    `A locked database: refused within p50 ${quantile(tookMs, 0.5).toFixed(0)} ms, most ${Math.max(...tookMs).toFixed(0)} ms (aim ${aimMs} ms)\n`,
  )
  await add()
  expect(await titlesThere()).toEqual([...acknowledged].sort())
  expect(quantile(tookMs, 0.9)).toBeLessThan(aimMs * slowdown())
  expect(Math.max(...tookMs)).toBeLessThan(maxMs * slowdown())
})

it('a lock that is released in time rejects no write', async () => {
  await tell('take')
  const adding = addMany(10)
  await delay(60)
  await tell('release')
  await adding
  expect(await titlesThere()).toEqual([...acknowledged].sort())
})

it(
  `no write acknowledged after a lock is lost by a kill of the server, ${rounds} times, and each event is sent once`,
  async () => {
    for (let round = 0; round < rounds; round++) {
      const live = await follow(board.url, board.token, projectId, 0)
      await whileLocked(async () => {
        for (let at = 0; at < 3; at++) expect((await refusalOf(add)).refusal).toEqual(busy)
      })
      await addMany(20)
      await board.client.cards.move({ projectId, cardId: '1', columnId: columns[round % 2 ? 0 : 2]! })
      await board.end('SIGKILL')
      await live.untilClosed()
      const seqs = live.seqs()
      expect(seqs).toEqual(seqs.map((_, at) => at + 1))
      await board.start()
      expect(await titlesThere()).toEqual([...acknowledged].sort())
      const after = await follow(board.url, board.token, projectId, 0)
      expect(after.seqs().slice(0, seqs.length)).toEqual(seqs)
      expect(after.seqs()).toEqual(after.seqs().map((_, at) => at + 1))
      after.close()
    }
  },
  20_000 + rounds * 10_000,
)

it(
  `scripts, monitors, agents and webhooks work normally when the database is locked occasionally, ${rounds} times (seed ${seed})`,
  async () => {
    const scripts = await Promise.all(
      Array.from({ length: 4 }, (_, at) =>
        board.client.scripts.create({ projectId, name: `script ${at}`, command: `sleep 0.${at}; echo done` }),
      ),
    )
    const { id: watched } = await board.client.cards.create({
      projectId,
      title: 'watched',
      columnId: columns[1],
      deferred: true,
    })
    const { token } = await board.client.agents.token({ projectId, cardId: watched })
    const asAgent = createClient({ url: board.url, token })
    const { id: webhookId } = await board.client.webhooks.create({
      projectId,
      url: receiver.url,
      events: ['script.finished'],
    })
    for (let round = 1; round <= rounds; round++) {
      for (const { id: scriptId } of scripts) await board.client.scripts.run({ projectId, scriptId })
      const { id: monitorId } = await asAgent.monitors.create({
        projectId,
        cardId: watched,
        command: `sleep 0.${dice.between(0, 5)}`,
        intervalSecs: 3600,
        allowUnsandboxed: true,
      })
      const cards = await Promise.all(
        ['spoken', 'plain'].map(agent =>
          board.client.cards.create({ projectId, title: agent, prompt: 'Work.', columnId: columns[1], agent }),
        ),
      )
      for (let locks = dice.between(1, 3); locks > 0; locks--) {
        await delay(dice.between(0, 150))
        await whileLocked(() => delay(dice.between(250, 900)))
      }
      const runs = async () =>
        (await board.client.scripts.status({ projectId })).map(({ status, output, error }) => ({
          status,
          output,
          error,
        }))
      await eventually(
        'the end of each script',
        async () => (await runs()).every(({ status }) => status !== 'running'),
        10_000,
      )
      expect(await runs()).toEqual(scripts.map(() => ({ status: 'succeeded', output: 'done\n', error: null })))
      const monitor = async () =>
        (await board.client.monitors.listProject({ projectId })).find(({ id }) => id === monitorId)!
      await eventually(
        "the end of the monitor's run",
        async () => !['pending', 'running'].includes((await monitor()).status),
      )
      expect(await monitor()).toMatchObject({ status: 'ok', error: null })
      await board.client.monitors.deleteProject({ projectId, monitorId })
      for (const { id: cardId } of cards) {
        await eventually(
          `the end of the agent of card ${cardId}`,
          async () => !(await board.client.cards.get({ projectId, cardId })).hasActiveAgent,
          20_000,
        )
        expect(await board.client.cards.get({ projectId, cardId })).toMatchObject({
          status: 'completed',
          statusReason: null,
        })
      }
    }
    await eventually(
      'messages that are all taken',
      async () =>
        (await board.client.webhooks.deliveries({ projectId, webhookId, status: 'succeeded' })).items.length ===
        rounds * scripts.length,
      20_000,
    )
    expect(new Set(receiver.received.map(({ message }) => message.seq)).size).toBe(rounds * scripts.length)
    expect((await fetch(`${board.url}/api/ready`)).status).toBe(200)
  },
  20_000 + rounds * 60_000,
)
