import { setTimeout as delay } from 'node:timers/promises'
import { note, quantile, type Figures } from './figures.ts'
import { drive } from './load.ts'
import type { Options } from './options.ts'
import type { Servers } from './rounds.ts'
import { flooder } from './seed.ts'
import { requestAs, completed, type Session } from './sessions.ts'
import { smallest } from './sizes.ts'

const pauseMs = 5
const pollMs = 50
const patienceMs = 120_000

/**
 * Makes a real agent send messages as fast as the server reads them, in the sandbox if there is one and without. Records `transcript/rate` and
 * `transcript/off/rate` (updates per second, by the session's own times), and the duration of `GET /api/health` during the first and before
 * it: `transcript/p99` and `transcript/idle` (ms).
 */
export async function measureTranscript(
  servers: Servers,
  { floodUpdates, floodRuns }: Options,
  figures: Figures,
): Promise<void> {
  const { board, seeded } = servers
  const { projectId, activeColumnId } = seeded.projects[smallest]!
  const askBoard = requestAs(servers)
  const flood = async (mode: 'inherit' | 'off', name: string) => {
    await askBoard('PATCH', `/api/projects/${projectId}`, { sandbox: { mode } })
    const { id } = await askBoard<{ id: string }>('POST', '/api/cards', {
      projectId: String(projectId),
      columnId: String(activeColumnId),
      title: 'Say much',
      prompt: 'Speak.',
      agent: flooder,
      useWorktree: false,
    })
    let session: Session
    const tookMs = await healthMs(board.port, async () => {
      session = await completed(askBoard, `/api/projects/${projectId}/cards/${id}/agent`, pollMs, patienceMs)
    })
    const { startedAt, endedAt } = session!
    note(figures, name, (floodUpdates / (Date.parse(endedAt!) - Date.parse(startedAt!))) * 1000)
    return tookMs
  }
  for (let run = 0; run < floodRuns; run++) {
    note(figures, 'transcript/idle', quantile(await healthMs(board.port, () => delay(500)), 0.99))
    note(figures, 'transcript/p99', quantile(await flood('inherit', 'transcript/rate'), 0.99))
    await flood('off', 'transcript/off/rate')
  }
}

/** The durations of `GET /api/health` requests while `work` runs, in ms. */
async function healthMs(port: number, work: () => Promise<unknown>): Promise<number[]> {
  const tookMs: number[] = []
  let isOver = false
  const asking = (async () => {
    while (!isOver) {
      const { latenciesMs } = await drive({
        port,
        clients: 1,
        durationMs: 0,
        token: '',
        next: () => ({ method: 'GET', path: '/api/health' }),
      })
      tookMs.push(...latenciesMs)
      await delay(pauseMs)
    }
  })()
  await work().finally(() => {
    isOver = true
  })
  await asking
  return tookMs
}
