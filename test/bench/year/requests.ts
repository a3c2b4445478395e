import { join } from 'node:path'
import { startChild, type Child } from '../child.ts'
import { median, note, type Figures } from '../figures.ts'
import { drive, type Exchange } from '../load.ts'
import type { FilledBoard } from './boards.ts'

const clients = 4
const loadMs = 300

interface Asked {
  token(board: FilledBoard): string
  next(board: FilledBoard, turn: number): Exchange
}
const get = (path: (board: FilledBoard['project'], card: number) => string): Asked => ({
  token: ({ signInToken }) => signInToken,
  next: ({ project, asked }, turn) => ({ method: 'GET', path: path(project, project.firstCardId + (turn % asked)) }),
})
const ofCard = (rest: string) => get(({ projectId }, card) => `/api/projects/${projectId}/cards/${card}${rest}`)
const ofProject = (rest: string) => get(({ projectId }) => `/api/projects/${projectId}${rest}`)

/** The requests to each board. */
const works: Record<string, Asked> = {
  'list projects': get(() => '/api/projects'),
  'list cards': ofProject('/cards?limit=50'),
  'get a card': ofCard(''),
  search: get(() => '/api/search?q=customer'),
  stats: ofProject('/stats'),
  'stats, a month of days': ofProject('/stats/history'),
  'stats, usage of agents': ofProject('/stats/usage'),
  'active agents': ofProject('/active-agents'),
  'activity of a card': ofCard('/activity?limit=10'),
  "a card's last session": ofCard('/agent'),
  "a card's sessions": ofCard('/agent/history?limit=1'),
  'transcript, a page': ofCard('/agent/messages?limit=10'),
  'create a card': {
    token: ({ apiKey }) => apiKey,
    next: ({ project }, turn) => ({
      method: 'POST',
      path: `/api/external/projects/${project.projectId}/cards`,
      body: { title: `Card ${turn}`, prompt: 'Find the cause and fix it.' },
    }),
  },
  'move a card': {
    token: ({ apiKey }) => apiKey,
    next: ({ project: { projectId, firstCardId, columnId, cards } }, turn) => ({
      method: 'PATCH',
      path: `/api/external/projects/${projectId}/cards/${firstCardId + ((turn * 37) % cards)}/move`,
      body: { targetColumnId: columnId, position: 0 },
    }),
  },
}

/** Sends both boards equal requests in turn. Records `side/work, µs` of the server's processor time per request, and their median duration. */
export async function measureRequests(
  folder: string,
  sides: Record<string, FilledBoard>,
  rounds: number,
  figures: Figures,
): Promise<void> {
  const servers = new Map<string, Child>()
  try {
    for (const [side, { dataDir }] of Object.entries(sides))
      servers.set(side, await startChild(join(folder, 'server.mjs'), { dataDir }))
    for (let round = 0; round <= rounds; round++) {
      const order = round % 2 === 0 ? [...servers] : [...servers].toReversed()
      for (const [name, work] of Object.entries(works))
        for (const [side, server] of order) {
          const { micros, p50 } = await load(server, sides[side]!, name, work)
          // The first round warms up, and does not count.
          note(round === 0 ? new Map() : figures, `${side}/${name}, µs`, micros)
          note(round === 0 ? new Map() : figures, `${side}/${name}, p50 ms`, p50)
        }
    }
  } finally {
    await Promise.all([...servers.values()].map(server => server.stop()))
  }
}

async function load(
  server: Child,
  board: FilledBoard,
  name: string,
  { token, next }: Asked,
): Promise<{ micros: number; p50: number }> {
  let turn = 0
  const before = await server.cpuMicros()
  const done = await drive({
    port: server.port,
    clients,
    durationMs: loadMs,
    token: token(board),
    next: () => next(board, turn++),
  })
  if (done.failures > 0)
    throw new Error(`${name}: ${done.failures} of ${done.requests} requests failed (${done.firstFailure}).`)
  return { micros: ((await server.cpuMicros()) - before) / done.requests, p50: median(done.latenciesMs) }
}
