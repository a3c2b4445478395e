import { randomInt, randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { isSharable, secretKey } from '../daemons/sharing.ts'
import { configure } from '../support/agents/agentBoard.ts'
import { boardProcess, clearAway, type BoardProcess } from '../support/processes/boardProcess.ts'
import { processesWith } from '../support/processes/processFiles.ts'
import { follow } from '../support/receivers/liveSocket.ts'
import { startLibsqlServer } from '../support/servers/libsqlServer.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { createDice } from './dice.ts'

/** BOARD_TEST_ROUNDS=20 for the long run: the number of kills, with twice as many cards. BOARD_TEST_SEED repeats a random choice. */
const kills = Number(process.env.BOARD_TEST_ROUNDS ?? 3)
const cardCount = Math.max(8, 2 * kills)
const seed = Number(process.env.BOARD_TEST_SEED ?? randomInt(2 ** 31))
const slots = { server: 3, project: 2 }
const limits = { build: 2, review: 1 }
const patienceMs = 120_000 + kills * 20_000

const dice = createDice(seed)
const mark = randomUUID()
const running: Array<{ board: BoardProcess; root: string }> = []
afterAll(async () => {
  for (const { board, root } of running) await clearAway(board, root)
  for (const pid of processesWith(mark)) process.kill(pid, 'SIGKILL')
})

/** A project whose cards move automatically from its backlog through two limited active columns to the end. */
interface Flow {
  board: BoardProcess
  projectId: string
  columns: { build: string; review: string; done: string }
  cards: Map<string, { blockedBy: string[] }>
}

async function start(args: readonly string[] = []): Promise<BoardProcess> {
  const root = mkdtempSync(join(tmpdir(), 'board-limits-'))
  const dataDir = join(root, 'data')
  configure(dataDir, { well: { fixture: 'well-behaved' } }, mark)
  const board = boardProcess(dataDir, { HOME: root, BOARD_SECRET_KEY: secretKey }, args)
  running.push({ board, root })
  await board.start()
  return board
}

async function makeFlow(board: BoardProcess): Promise<Flow> {
  const { client } = board
  const path = join(running.find(each => each.board === board)!.root, 'project')
  mkdirSync(path)
  const { id: projectId } = await client.projects.create({ name: 'Flow', path })
  await eventually('the machine of the project', () =>
    client.projects.update({ id: projectId, agent: 'well', agentSlots: slots.project }).then(
      () => true,
      () => false,
    ),
  )
  const [backlog, build, done] = await client.columns.list({ projectId })
  const made = { projectId, boardId: backlog!.boardId, name: 'Review', columnType: 'active' as const }
  const review = await client.columns.create({ ...made, wipLimit: limits.review, pull: true })
  await client.columns.reorder({ projectId, ids: [backlog!.id, build!.id, review.id, done!.id] })
  await client.columns.update({ projectId, columnId: done!.id, wipLimit: 10_000, pull: true })
  const cards: Flow['cards'] = new Map()
  for (let at = 0; at < cardCount; at++) {
    const before = [...cards.keys()]
    const blockedBy = before.filter(() => dice.chance(1.2 / (before.length + 1))).slice(0, 3)
    const card = { projectId, title: `card ${at}`, deferred: true, useWorktree: false }
    const { id } = await client.cards.create({ ...card, autoMode: dice.chance(0.5), blockedBy })
    cards.set(id, { blockedBy })
  }
  await client.columns.update({ projectId, columnId: build!.id, wipLimit: limits.build, pull: true })
  return { board, projectId, columns: { build: build!.id, review: review.id, done: done!.id }, cards }
}

/** The number of sessions of a flow's cards. */
async function startsOf({ board, projectId, cards }: Flow): Promise<number> {
  const all = await Promise.all([...cards.keys()].map(cardId => board.client.cards.get({ projectId, cardId })))
  return all.reduce((sum, { sessions }) => sum + sessions.length, 0)
}

/** Resumes sessions that a dead server interrupted, as a user does. */
async function takeUp({ board, projectId }: Flow): Promise<void> {
  for (const status of ['interrupted', 'failed'] as const)
    for (const { id: cardId } of await board.client.cards.list({ projectId, status }))
      await board.client.agents.retry({ projectId, cardId }).catch((error: { code?: string }) => {
        expect(['AGENT_ALREADY_RUNNING', 'MACHINE_UNAVAILABLE', 'DATABASE_BUSY']).toContain(error.code)
      })
}

const isThrough = async (flow: Flow): Promise<boolean> => {
  await takeUp(flow)
  const { board, projectId, columns, cards } = flow
  const done = await board.client.cards.list({ projectId, columnId: columns.done })
  return done.length === cards.size && done.every(({ hasActiveAgent }) => !hasActiveAgent)
}

/** Kills servers during the work, until all cards have finished. */
async function play(flows: readonly Flow[]): Promise<void> {
  for (let kill = 0; kill < kills; kill++) {
    const flow = flows[dice.between(0, flows.length - 1)]!
    const from = await startsOf(flow)
    const until = from + dice.between(1, 3)
    // The server of a finished flow is also killed.
    await eventually('some starts', async () => (await startsOf(flow)) >= until || isThrough(flow), patienceMs)
    await flow.board.end('SIGKILL')
    await flow.board.start()
  }
  for (const flow of flows)
    await eventually('the end of every card', () => isThrough(flow).catch(() => false), patienceMs)
}

interface Told {
  seq: number
  type: string
  flow: Flow
  // oxlint-disable-next-line typescript/no-explicit-any -- each type of event has its own
  data: any
}

/** Every event of the flows, in commit order. */
async function eventsOf(flows: readonly Flow[]): Promise<Told[]> {
  const told: Told[] = []
  for (const flow of flows) {
    const socket = await follow(flow.board.url, flow.board.token, flow.projectId, 0)
    const marker = `the last of ${flow.projectId}`
    await flow.board.client.boards.create({ projectId: flow.projectId, name: marker })
    await socket.message('board.created', ({ data }) => data.name === marker)
    told.push(...socket.messages.flatMap(({ seq, type, data }) => (seq === undefined ? [] : { seq, type, data, flow })))
    socket.close()
  }
  return told.toSorted((a, b) => a.seq - b.seq)
}

/** Checks the received events against the rules. */
function expectRules(events: readonly Told[]): { starts: number; interrupted: number; peak: number } {
  const columnOf = new Map<string, string>()
  const open = new Map<string, { cardId: string; flow: Flow; isRunning: boolean }>()
  const completed = new Map<string, number>()
  const begun = new Set<string>()
  const [seen, interrupted] = [new Set<string>(), new Set<string>()]
  let peak = 0
  const inColumn = (columnId: string) => [...columnOf.values()].filter(each => each === columnId).length
  for (const { type, data, flow } of events) {
    if (type === 'card.created' || type === 'card.moved') {
      columnOf.set(data.id, data.columnId)
      expect(inColumn(flow.columns.build)).toBeLessThanOrEqual(limits.build)
      expect(inColumn(flow.columns.review)).toBeLessThanOrEqual(limits.review)
    }
    if (type !== 'agent.status') continue
    const { sessionId, cardId, status } = data
    if (!seen.has(sessionId) && !begun.has(cardId))
      for (const blocker of flow.cards.get(cardId)!.blockedBy)
        expect(columnOf.get(blocker), `card ${blocker} when card ${cardId} was started`).toBe(flow.columns.done)
    seen.add(sessionId)
    begun.add(cardId)
    if (status === 'interrupted') interrupted.add(sessionId)
    if (status === 'completed') completed.set(cardId, (completed.get(cardId) ?? 0) + 1)
    if (['queued', 'running', 'waiting'].includes(status))
      open.set(sessionId, { cardId, flow, isRunning: status !== 'queued' })
    else open.delete(sessionId)
    const others = [...open].filter(([id, each]) => each.cardId === cardId && id !== sessionId)
    expect(others, `sessions of card ${cardId} in addition to ${sessionId}`).toEqual([])
    const now = [...open.values()].filter(({ isRunning }) => isRunning)
    expect(now.length).toBeLessThanOrEqual(slots.server)
    expect(now.filter(each => each.flow === flow).length).toBeLessThanOrEqual(slots.project)
    peak = Math.max(peak, now.length)
  }
  for (const flow of new Set(events.map(each => each.flow)))
    for (const id of flow.cards.keys()) {
      expect(columnOf.get(id)).toBe(flow.columns.done)
      expect(completed.get(id), `completed steps of card ${id}`).toBe(2)
    }
  return { starts: seen.size, interrupted: interrupted.size, peak }
}

async function playAndTell(boards: readonly BoardProcess[]): Promise<void> {
  await boards[0]!.client.settings.setAgentSlots({ server: slots.server })
  const flows: Flow[] = []
  for (const board of boards) flows.push(await makeFlow(board))
  await play(flows)
  const figures = expectRules(await eventsOf(flows))
  process.stdout.write(`${kills} kills, ${flows.length * cardCount} cards, seed ${seed}: ${JSON.stringify(figures)}\n`)
}

test(
  'cards move through limited columns in order, each step once, at any time of a kill',
  { timeout: patienceMs * 3 },
  async () => {
    await playAndTell([await start()])
  },
)

describe.skipIf(!isSharable)('two daemons on one database', () => {
  test('share the limits, and lose nothing if one of them is killed', { timeout: patienceMs * 4 }, async () => {
    const server = await startLibsqlServer()
    const at = (machine: string) => ['--database', server.url, '--machine', machine]
    try {
      await playAndTell([await start(at('one')), await start(at('two'))])
    } finally {
      for (const { board } of running) if (board.isRunning()) await board.end('SIGKILL')
      await server.close()
    }
  })
})
