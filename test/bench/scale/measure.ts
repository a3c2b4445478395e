import { cpus } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { sizeOfDatabase } from '../../../src/store/server/daemons.ts'
import { indexPendingCards } from '../../../src/domain/cards/search.ts'
import { startLibsqlServer, type LibsqlServer } from '../../support/servers/libsqlServer.ts'
import { startChild, type Child } from '../child.ts'
import { median } from '../figures.ts'
import { drive, type Exchange } from '../load.ts'
import { moveTo } from '../moveTo.ts'
import { cpuMsOf } from '../processes.ts'
import { configureAgents, flooder, seedBoard, seedFolder, seedProject, type Seeded } from '../seed.ts'
import { completed, requestAs } from '../sessions.ts'
import { openAll } from '../sockets.ts'
import { fillYear, type Work } from '../year/fill.ts'
import { readTexts } from '../year/texts.ts'
import { requestKinds, type Cost, type Measured, type RequestKind } from './measured.ts'
import { measureNamespaces } from './namespaces.ts'

const cards = 300
const rounds = 5
const clients = 8
const [loadMs, idleMs] = [1000, 6000]
const [sockets, deliveries, pieces] = [500, 100, 20_000]
const maxSessionMs = 120_000
/** The rows from which the size of a row is computed. */
const sizing = { cards: 2000, events: 20_000, sessions: 20, pieces: 1500 }

/** Pieces of agents' messages, without the output of their tools. */
const nothing: Work = { events: 0, activities: 0, sessions: 0, pieces: 0, maxLength: 250 }

/** The folders of the programs, and a folder that is removed afterwards. */
export interface Programs {
  folder: string
  board: string
  testsFolder: string
  flood: string
}
interface Pair {
  board: Child
  sqld: LibsqlServer
  seeded: Seeded
}

/** Measures the real board on a real libSQL server, with as little other load on this machine as possible. */
export async function measure(programs: Programs, tell: (text: string) => void): Promise<Measured> {
  const { folder, testsFolder } = programs
  tell('seeding')
  const seeded = await seedBoard(folder, [cards])
  configureAgents(seeded.dataDir, {
    [flooder]: { command: [process.execPath, programs.flood], env: { FIXTURE_UPDATES: String(pieces) } },
  })
  const [emptyDataDir, filledDataDir] = [join(folder, 'empty'), join(folder, 'filled')]
  await seedFolder(emptyDataDir, async () => {})
  const bytes = await measureSizes(filledDataDir, programs)
  const sqld = await startLibsqlServer({ testsFolder })
  try {
    moveTo(sqld.url, programs.board, seeded.dataDir)
    const board = await startChild(join(folder, 'server.mjs'), { dataDir: seeded.dataDir, database: sqld.url })
    const served = await measureServed({ board, sqld, seeded }, tell).finally(() => board.stop())
    tell('namespaces')
    const spaces = await measureNamespaces({ ...programs, emptyDataDir, filledDataDir })
    const at = new Date().toISOString()
    return { at, node: process.version, machine: cpus()[0]?.model ?? process.arch, ...served, ...spaces, bytes }
  } finally {
    await sqld.close()
  }
}

async function measureServed(
  pair: Pair,
  tell: (text: string) => void,
): Promise<Pick<Measured, 'requests' | 'delivery' | 'piece' | 'idle' | 'socketKilobytes'>> {
  tell('idle')
  await delay(idleMs / 2)
  const daemonMegabytes = (await pair.board.memory()).residentBytes / 1024 / 1024
  const idle = await spent(pair, () => delay(idleMs))
  const idleASec: Cost = { board: (idle.board / idleMs) * 1000, sqld: (idle.sqld / idleMs) * 1000 }
  tell('requests')
  const requests = await measureRequests(pair, idleASec)
  tell('events')
  const events = await measureDeliveries(pair)
  tell('a session')
  const piece = await measurePieces(pair)
  return { requests, ...events, piece, idle: { ...idleASec, daemonMegabytes } }
}

/** Processor time of both, in microseconds, during `work`. */
async function spent({ board, sqld }: Pair, work: () => Promise<unknown>): Promise<Cost> {
  const sqldMicros = () => cpuMsOf(sqld.process().pid!)! * 1000
  const before = { board: await board.cpuMicros(), sqld: sqldMicros() }
  await work()
  return { board: (await board.cpuMicros()) - before.board, sqld: sqldMicros() - before.sqld }
}

async function measureRequests(pair: Pair, idle: Cost): Promise<Record<RequestKind, Cost>> {
  const { board, seeded } = pair
  const exchanges = exchangesOf(seeded)
  const costs = new Map<RequestKind, Cost[]>(requestKinds.map(kind => [kind, []]))
  for (let round = 0; round <= rounds; round++)
    for (const kind of requestKinds) {
      let done = { requests: 0, failures: 0, secs: 0 }
      const { port } = board
      const cost = await spent(pair, async () => {
        done = await drive({ port, clients, durationMs: loadMs, token: seeded.apiKey, next: exchanges[kind] })
      })
      if (done.failures > 0) throw new Error(`${kind}: ${done.failures} of ${done.requests} requests failed.`)
      const of = (side: keyof Cost) => (cost[side] - idle[side] * done.secs) / done.requests
      // The first round warms up.
      if (round > 0) costs.get(kind)!.push({ board: of('board'), sqld: of('sqld') })
    }
  const middle = (kind: RequestKind, side: keyof Cost) => median(costs.get(kind)!.map(cost => cost[side]))
  return Object.fromEntries(
    requestKinds.map(kind => [kind, { board: middle(kind, 'board'), sqld: middle(kind, 'sqld') }]),
  ) as Record<RequestKind, Cost>
}

function exchangesOf({ projects }: Seeded): Record<RequestKind, () => Exchange> {
  const { projectId, firstCardId, columnId } = projects[cards]!
  const path = `/api/external/projects/${projectId}/cards`
  let at = 0
  const next = () => firstCardId + (at++ % cards)
  return {
    get: () => ({ method: 'GET', path: `${path}/${next()}` }),
    list: () => ({ method: 'GET', path: `${path}?limit=50&cursor=${next()}` }),
    create: () => ({ method: 'POST', path, body: { title: `Card ${at++}`, prompt: 'Find the cause and fix it.' } }),
    move: () => ({ method: 'PATCH', path: `${path}/${next()}/move`, body: { targetColumnId: columnId, position: 0 } }),
  }
}

/** The cost of cards that many sockets receive, next to the cost without a socket. */
async function measureDeliveries(pair: Pair): Promise<Pick<Measured, 'delivery' | 'socketKilobytes'>> {
  const { board, seeded } = pair
  const { create } = exchangesOf(seeded)
  const some = () =>
    spent(pair, async () => {
      for (let number = 0; number < deliveries; number++)
        await drive({ port: board.port, clients: 1, durationMs: 0, token: seeded.apiKey, next: create })
      await delay(200)
    })
  const without = await some()
  const before = (await board.memory()).residentBytes
  const listeners = await openAll(board.port, seeded.signInToken, sockets, seeded.projects[cards]!.projectId)
  const socketKilobytes = ((await board.memory()).residentBytes - before) / 1024 / sockets
  const within = await some()
  for (const listener of listeners) listener.close()
  return { delivery: (within.board - without.board) / deliveries / sockets, socketKilobytes }
}

async function measurePieces(pair: Pair): Promise<Cost> {
  const askBoard = requestAs(pair)
  const { projectId, activeColumnId } = pair.seeded.projects[cards]!
  await askBoard('PATCH', `/api/projects/${projectId}`, { sandbox: { mode: 'off' } })
  const cost = await spent(pair, async () => {
    const { id } = await askBoard<{ id: string }>('POST', '/api/cards', {
      projectId: String(projectId),
      columnId: String(activeColumnId),
      title: 'Say much',
      prompt: 'Speak.',
      agent: flooder,
      useWorktree: false,
    })
    await completed(askBoard, `/api/projects/${projectId}/cards/${id}/agent`, 200, maxSessionMs)
  })
  return { board: cost.board / pieces, sqld: cost.sqld / pieces }
}

/** The growth of the file per row. */
async function measureSizes(dataDir: string, { folder, testsFolder }: Programs): Promise<Measured['bytes']> {
  const size = () => seedFolder(dataDir, ({ db }) => sizeOfDatabase(db))
  let before = await size()
  const grown = async () => {
    const now = await size()
    const bytes = now - before
    before = now
    return bytes
  }
  const { projectId, firstCardId } = await seedFolder(dataDir, async ({ db }) => {
    const project = await db.transaction(tx => seedProject(tx, sizing.cards, folder))
    await indexPendingCards(db)
    return project
  })
  const card = (await grown()) / sizing.cards
  const worked = { projectId, firstCardId, cards: sizing.cards }
  const fill = (work: Partial<Work>) =>
    fillYear(join(dataDir, 'board.db'), worked, { ...nothing, ...work }, readTexts(join(testsFolder, '..')))
  await fill({ events: sizing.events })
  const event = (await grown()) / sizing.events
  await fill({ sessions: sizing.sessions, pieces: sizing.pieces })
  return { card, event, piece: (await grown()) / sizing.sessions / sizing.pieces }
}
