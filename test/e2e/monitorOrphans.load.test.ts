import { randomInt, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { hideAgents } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { processesWith, readProcessFile } from '../support/processes/processFiles.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import { createDice } from './dice.ts'

type Monitor = Awaited<ReturnType<Client['monitors']['create']>>

/** BOARD_TEST_ROUNDS=200 for the long run; BOARD_TEST_SEED repeats a random run. */
const rounds = Number(process.env.BOARD_TEST_ROUNDS ?? 3)
const seed = Number(process.env.BOARD_TEST_SEED ?? randomInt(2 ** 31))
const intervalSecs = 10
/** The maximum number of concurrent runs: no monitor waits for another. */
const maxMonitors = 8
const goneWithinMs = 5000
/** How late a run can be if no other run delays it. */
const slackMs = 4000

const root = mkdtempSync(join(tmpdir(), 'board-monitor-orphans-'))
const [dataDir, ledger, path] = [join(root, 'data'), join(root, 'ledger'), join(root, 'project')]
const mark = randomUUID()
const dice = createDice(seed)
const board = boardProcess(dataDir, { HOME: root })
let projectId: string
let columns: { backlog: string; active: string }
let cardIds: string[]
/** The text that only processes of a monitor have in their command line. */
const tags = new Map<string, string>()

beforeAll(async () => {
  for (const folder of [path, join(root, 'locks')]) mkdirSync(folder, { recursive: true })
  hideAgents(dataDir)
  await board.start()
  projectId = (await board.client.projects.create({ name: 'Orphans', path })).id
  const [backlog, active] = (await board.client.columns.list({ projectId })).map(({ id }) => id) as [string, string]
  columns = { backlog, active }
  cardIds = await Promise.all(
    ['One', 'Two', 'Three'].map(
      async title => (await board.client.cards.create({ projectId, title, columnId: active, deferred: true })).id,
    ),
  )
})
afterAll(() => clearAway(board, root))

/** The command of a monitor: it holds a lock while any of its processes lives, records whether another run held it, and leaves children of several kinds. */
function commandOf(tag: string): string {
  const stay = `sh -c 'sleep 300; :' ${tag}`
  const stubborn = `sh -c 'trap "" TERM HUP INT; while :; do sleep 0.2; done' ${tag}`
  const kinds = {
    lingering: `setsid ${stay} & ${stay}`,
    leaving: `(setsid ${stay} &); sleep 0.1`,
    stubborn: `setsid ${stubborn} & ${stubborn}`,
    twice: `(setsid sh -c "setsid ${stay.replaceAll("'", '\\"')} & sleep 0.05" &); ${stay}`,
    quick: 'true',
    failing: `setsid ${stay} & exit 3`,
  }
  return `exec 9>${root}/locks/${tag}; flock -n 9 || echo "double ${tag}" >> ${ledger}; echo "run ${tag}" >> ${ledger}; ${kinds[dice.pick(Object.keys(kinds) as Array<keyof typeof kinds>)]}`
}

const listed = () => board.client.monitors.listProject({ projectId })
const lines = () => (existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n').slice(0, -1) : [])
const asAgent = async (cardId: string, use: (client: Client) => Promise<unknown>) => {
  const { token } = await board.client.agents.token({ projectId, cardId })
  const { createClient } = await import('../../src/client/index.ts')
  return use(createClient({ url: board.url, token }))
}

const steps: Record<string, () => Promise<unknown>> = {
  create: async () => {
    const [tag, cardId] = [`${mark}-${tags.size}`, dice.pick(cardIds)]
    if (
      (await listed()).length >= maxMonitors ||
      (await board.client.cards.get({ projectId, cardId })).columnType !== 'active'
    )
      return
    await asAgent(cardId, async client => {
      tags.set(
        (
          await client.monitors.create({
            projectId,
            cardId,
            command: commandOf(tag),
            intervalSecs,
            allowUnsandboxed: true,
          })
        ).id,
        tag,
      )
    })
  },
  delete: async () => {
    const all = await listed()
    if (all.length === 0) return
    const { id } = dice.pick(all)
    await board.client.monitors.deleteProject({ projectId, monitorId: id })
    await eventually(`the end of deleted monitor ${id}`, () => processesWith(tags.get(id)!).length === 0, goneWithinMs)
  },
  leave: () => board.client.cards.move({ projectId, cardId: dice.pick(cardIds), columnId: columns.backlog }),
  enter: async () => {
    for (const cardId of cardIds) await board.client.cards.move({ projectId, cardId, columnId: columns.active })
  },
}

/** Ends the server in a random way, possibly in the middle of an operation, and starts the next one. */
async function finish(): Promise<string> {
  const way = dice.pick(['kill', 'kill', 'kill', 'stop'])
  const underWay = dice.chance(0.5)
    ? dice
        .pick([steps.create!, steps.enter!, steps.leave!])()
        .catch(() => {
          /* Its server has ended. */
        })
    : undefined
  await delay(dice.pick([0, 5, 20, 60, 300]))
  const { code, tookMs } = await board.end(way === 'kill' ? 'SIGKILL' : 'SIGTERM')
  await underWay
  if (way === 'stop') expect([code, tookMs < 15_000, processesWith(mark)]).toEqual([0, true, []])
  const before = board.url
  await board.start()
  // The processes of a dead server have ended before the next server answers.
  expect(
    before === board.url
      ? []
      : processesWith(mark).filter(pid => readProcessFile(pid, 'environ').includes(`BOARD_URL=${before}\0`)),
  ).toEqual([])
  return way
}

/** Monitors of active cards that have not run for longer than their interval, or never will. */
async function missed(): Promise<string[]> {
  const active = new Set(
    (await Promise.all(cardIds.map(cardId => board.client.cards.get({ projectId, cardId }))))
      .filter(({ columnType }) => columnType === 'active')
      .map(({ id }) => id),
  )
  const isLate = ({ cardId, status, nextRunAt }: Monitor) =>
    active.has(cardId) &&
    status !== 'running' &&
    (status === 'paused' ||
      nextRunAt === null ||
      Date.parse(nextRunAt) < Date.now() - slackMs ||
      Date.parse(nextRunAt) > Date.now() + intervalSecs * 1000 + 100)
  return (await listed()).filter(isLate).map(({ id, status, nextRunAt }) => `${id} ${status} ${nextRunAt}`)
}

test(
  `no process is left, and no run is duplicated or missed in ${rounds} rounds of monitors that are created, run, deleted and lose their server (seed ${seed})`,
  async () => {
    const all: string[] = []
    for (let round = 1; round <= rounds; round++) {
      const told: string[] = []
      try {
        for (let left = dice.between(2, 6); left > 0; left--) {
          const name = dice.pick(['create', 'create', 'create', 'delete', 'leave', 'enter'])
          told.push(name)
          await steps[name]!()
          await delay(dice.between(0, 300))
        }
        told.push(await finish())
        await eventually('every monitor that was missed', async () => (await missed()).length === 0, slackMs)
        expect(lines().filter(line => line.startsWith('double'))).toEqual([])
        all.push(...told)
      } catch (error) {
        throw new Error(
          `Round ${round} of seed ${seed} failed: ${told.join(', ')}. Left: ${processesWith(mark).join(' ')}. Missed: ${(await missed().catch(() => [])).join('; ')}`,
          { cause: error },
        )
      }
    }
    await expectAllRun()
    for (const { id } of await listed()) await board.client.monitors.deleteProject({ projectId, monitorId: id })
    await eventually('the end of every process', () => processesWith(mark).length === 0, goneWithinMs)
    process.stdout.write(
      `${rounds} rounds of seed ${seed}: ${tally(all)}; ${tags.size} monitors, ${lines().filter(line => line.startsWith('run')).length} runs\n`,
    )
  },
  rounds * 20_000 + 60_000,
)

/** At the end every remaining monitor runs once more, within its interval. */
async function expectAllRun(): Promise<void> {
  await steps.create!()
  await steps.enter!()
  const before = new Map((await listed()).map(({ id, lastStartedAt }) => [id, lastStartedAt]))
  // A monitor that runs until it is stopped has not finished its run.
  await eventually(
    'a run of every monitor',
    async () =>
      (await listed()).every(
        ({ id, status, lastStartedAt }) => lastStartedAt !== before.get(id) || status === 'running',
      ),
    intervalSecs * 1000 + slackMs,
  )
  expect(lines().filter(line => line.startsWith('double'))).toEqual([])
}

/** How often each step was performed: "create 3, kill 2, leave 4". */
function tally(told: readonly string[]): string {
  return [...new Set(told)]
    .sort()
    .map(kind => `${kind} ${told.filter(each => each === kind).length}`)
    .join(', ')
}
