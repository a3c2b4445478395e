import { randomInt, randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { configure, fixtureState, makeRepository } from '../support/agents/agentBoard.ts'
import { onLibsqlServer } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { processesWith } from '../support/processes/processFiles.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { findLeftovers } from '../support/sandbox/findLeftovers.ts'
import { createDice } from './dice.ts'

/** BOARD_TEST_ROUNDS=50 for the long run; BOARD_TEST_SEED repeats a random run. */
const rounds = Number(process.env.BOARD_TEST_ROUNDS ?? 5)
const seed = Number(process.env.BOARD_TEST_SEED ?? randomInt(2 ** 31))
/** The number of cards that are created at most: more would only be idle. */
const maxCards = 10
const goneWithinMs = 10_000
/** How long the watchdog can take if the next server does not start immediately. */
const watchdogMs = 2000
/** Error codes that are valid if a request comes at the wrong time. */
const untimely = ['AGENT_ALREADY_RUNNING', 'AGENT_NOT_RUNNING']

const root = mkdtempSync(join(tmpdir(), 'board-orphans-'))
const dataDir = join(root, 'data')
const ledger = join(fixtureState(dataDir), 'ledger')
const mark = randomUUID()
const dice = createDice(seed)
const board = boardProcess(dataDir, { HOME: root, BOARD_SANDBOX: 'auto' }, ['--agent-slots', '4'])
const repository = join(root, 'repository')
const restless = (env: Record<string, string>) => ({ fixture: 'restless', env: { FIXTURE_LEDGER: ledger, ...env } })
const agents = {
  short: restless({ FIXTURE_TURN_MS: '400' }),
  endless: restless({}),
  deaf: restless({ FIXTURE_DEAF: '1' }),
  crashing: restless({ FIXTURE_TURN_MS: '200', FIXTURE_CRASH: '1' }),
  asking: { fixture: 'permission-first' },
}
let projectId: string
let columns: { backlog: string; active: string }

beforeAll(async () => {
  configure(dataDir, agents, mark)
  await board.start()
  projectId = (await board.client.projects.create({ name: 'Orphans', path: makeRepository(repository) })).id
  const [backlog, active] = (await board.client.columns.list({ projectId })).map(({ id }) => id) as [string, string]
  columns = { backlog, active }
})
afterAll(async () => {
  await clearAway(board, root)
  // Ends the processes that a failed run leaves.
  for (const pid of processesWith(mark)) process.kill(pid, 'SIGKILL')
})

const left = () => findLeftovers(dataDir, repository, board.pid)
const listed = () => board.client.cards.list({ projectId })
type Step = (client: Client, cardId: string) => Promise<unknown>
const steps: Record<string, Step> = {
  message: (client, cardId) => client.agents.send({ projectId, cardId, content: 'More.' }),
  cancel: (client, cardId) => client.agents.cancel({ projectId, cardId }),
  relaunch: (client, cardId) => client.agents.relaunch({ projectId, cardId }),
  retry: (client, cardId) => client.agents.retry({ projectId, cardId }),
  leave: (client, cardId) => client.cards.move({ projectId, cardId, columnId: columns.backlog }),
  enter: (client, cardId) => client.cards.move({ projectId, cardId, columnId: columns.active }),
}

/** Sets whether later agents run in the sandbox, with which network, or without it. Returns the choice. */
async function chooseSandbox(): Promise<string> {
  const sandbox = dice.pick([
    { mode: 'off', network: 'full' },
    { mode: 'require', network: 'full' },
    { mode: 'require', network: 'none' },
  ] as const)
  if (!hasBubblewrap) return 'off'
  await board.client.projects.update({ id: projectId, sandbox })
  return sandbox.mode === 'off' ? 'off' : `mode ${sandbox.network}`
}

/** Performs a random step and returns its name. */
async function step(): Promise<string> {
  const cards = await listed()
  if (cards.length === 0 || (cards.length < maxCards && dice.chance(0.5))) {
    const agent = Object.keys(agents)[cards.length % Object.keys(agents).length]!
    const { id } = await board.client.cards.create({
      projectId,
      title: agent,
      prompt: 'Work.',
      columnId: columns.active,
      agent,
    })
    return `start ${agent} on ${id}`
  }
  const [name, { id }] = [dice.pick(Object.keys(steps)), dice.pick(cards)]
  const answer = await steps[name]!(board.client, id).then(
    () => 'ok',
    (error: { code?: string }) => {
      if (untimely.includes(error.code ?? '')) return error.code
      throw error
    },
  )
  return `${name} ${id}: ${answer}`
}

/** Ends the server in one of the possible ways. Returns which. */
async function finish(underWay: Promise<unknown>): Promise<string> {
  const way = dice.pick(['kill', 'kill', 'stop', 'cancel'])
  if (way === 'cancel') {
    await underWay
    await cancelAll()
    return way
  }
  const { code, tookMs } = await board.end(way === 'kill' ? 'SIGKILL' : 'SIGTERM')
  const left = processesWith(mark)
  await underWay.catch(() => {
    /* Its server has ended. */
  })
  if (way === 'stop' && (code !== 0 || tookMs > 15_000 || left.length > 0))
    throw new Error(`The stop took ${tookMs} ms, ended with ${code} and left ${left.length} processes.`)
  if (way === 'kill' && dice.chance(0.5))
    await eventually('the watchdog to end every process', () => processesWith(mark).length === 0, watchdogMs)
  await board.start()
  // At a shared database, cards in the queue start with the next server.
  if (onLibsqlServer) await cancelAll()
  return way
}

async function cancelAll(): Promise<void> {
  for (const { id } of (await listed()).filter(({ hasActiveAgent }) => hasActiveAgent))
    await steps.cancel!(board.client, id).catch(ignoreUntimely)
}

function ignoreUntimely(error: { code?: string }): void {
  if (!untimely.includes(error.code ?? '')) throw error
}

/** The lines that agents have written, by their own record. */
const writtenLines = () =>
  existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n').slice(0, -1).flatMap(parse) : []
const workFiles = () => [...new Set(writtenLines().map(({ file }) => file))]

/** Lines that an agent has written and that are missing in its file. */
function lostLines(): string[] {
  const kept = new Map(
    workFiles().map(file => [
      file,
      existsSync(file) ? new Set(readFileSync(file, 'utf8').split('\n')) : new Set<string>(),
    ]),
  )
  return writtenLines()
    .filter(({ file, number }) => !kept.get(file)!.has(String(number)))
    .map(({ file, number }) => `${number} of ${file}`)
}

/** Parses a line. A line that was truncated by the end of its writer is ignored. */
function parse(line: string): Array<{ file: string; number: number }> {
  try {
    return [JSON.parse(line)]
  } catch {
    return []
  }
}

test(
  `no agent, tool or change is lost in ${rounds} rounds of random starts, messages, cancels, relaunches and kills (seed ${seed})`,
  async () => {
    const all: string[] = []
    // On a busy machine at least one agent has written a line.
    const { id: first } = await board.client.cards.create({
      projectId,
      title: 'short',
      prompt: 'Work.',
      columnId: columns.active,
      agent: 'short',
    })
    await eventually(
      'the first lines',
      async () => (await board.client.cards.get({ projectId, cardId: first })).status === 'completed',
    )
    for (let round = 1; round <= rounds; round++) {
      const told: string[] = []
      try {
        told.push(await chooseSandbox())
        for (let left = dice.between(3, 8); left > 0; left--) {
          told.push(await step())
          await delay(dice.between(0, 400))
        }
        const underWay = Promise.all(
          Array.from({ length: dice.between(0, 3) }, async () => {
            told.push(await step())
          }),
        )
        underWay.catch(() => {
          /* Checked below. */
        })
        await delay(dice.pick([0, 20, 60, 1000]))
        told.push(await finish(underWay))
        await eventually('the end of every process', () => processesWith(mark).length === 0, goneWithinMs)
        const stuck = (await listed()).filter(
          ({ hasActiveAgent, status }) => hasActiveAgent || ['queued', 'running', 'waiting'].includes(status),
        )
        expect(
          stuck.map(({ id, status }) => `${id} ${status}`),
          'cards whose agent has ended',
        ).toEqual([])
        expect(await board.client.agents.active({ projectId })).toEqual([])
        expect(lostLines()).toEqual([])
        await eventually('nothing left of the sandbox', () => left().length === 0).catch(() =>
          expect(left()).toEqual([]),
        )
        all.push(...told)
      } catch (error) {
        throw new Error(
          `Round ${round} of seed ${seed} failed: ${told.join(', ')}. Left: ${processesWith(mark).join(' ')}`,
          { cause: error },
        )
      }
    }
    await expectWholeDiffs()
    process.stdout.write(
      `${rounds} rounds of seed ${seed}: ${tally(all)}; ${writtenLines().length} lines of ${workFiles().length} agents\n`,
    )
  },
  rounds * 40_000,
)

/** Expects the lines of all agents in the diffs of their cards. */
async function expectWholeDiffs(): Promise<void> {
  const files = workFiles()
  expect(files.length).toBeGreaterThan(0)
  for (const { id } of await listed()) {
    const { diff } = await board.client.agents.diff({ projectId, cardId: id })
    expect(files.filter(file => basename(dirname(file)) === id && !diff.includes(basename(file)))).toEqual([])
  }
}

/** How often each step was performed: "cancel 3, kill 2, start 4". */
function tally(told: readonly string[]): string {
  const kinds = told.map(each => each.split(' ')[0]!)
  return [...new Set(kinds)]
    .sort()
    .map(kind => `${kind} ${kinds.filter(each => each === kind).length}`)
    .join(', ')
}
