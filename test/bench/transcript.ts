import { setTimeout as delay } from 'node:timers/promises'
import { note, quantile, type Figures } from './figures.ts'
import { drive } from './load.ts'
import type { Options } from './options.ts'
import { ask, type Servers } from './rounds.ts'
import { flooder } from './seed.ts'
import { smallest } from './works.ts'

const pauseMs = 5
const patienceMs = 120_000

interface Session {
  status: string
  statusReason: string | null
  startedAt: string | null
  endedAt: string | null
}

/**
 * Has a real agent say things as fast as the server takes them. Notes `transcript/rate` (updates a second, by the session's own times),
 * and how long `GET /api/health` took meanwhile: `transcript/p99` and, before it, `transcript/idle` (ms).
 */
export async function measureTranscript(
  { board, seeded }: Servers,
  { floodUpdates, floodRuns }: Options,
  figures: Figures,
): Promise<void> {
  const { projectId, activeColumnId } = seeded.projects[smallest]!
  const askBoard = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const { status, body: text } = await ask(board.port, { method, path, body }, seeded.signInToken)
    if (status >= 300) throw new Error(`${path}: ${status} ${text}`)
    return (JSON.parse(text) as { data: T }).data
  }
  for (let run = 0; run < floodRuns; run++) {
    note(figures, 'transcript/idle', quantile(await healthMs(board.port, () => delay(500)), 0.99))
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
      const giveUpAt = performance.now() + patienceMs
      do {
        await delay(50)
        session = await askBoard<Session>('GET', `/api/projects/${projectId}/cards/${id}/agent`)
      } while (session.endedAt === null && performance.now() < giveUpAt)
    })
    const { status, statusReason, startedAt, endedAt } = session!
    if (status !== 'completed') throw new Error(`The agent that says much came to ${status} (${String(statusReason)}).`)
    note(figures, 'transcript/rate', (floodUpdates / (Date.parse(endedAt!) - Date.parse(startedAt!))) * 1000)
    note(figures, 'transcript/p99', quantile(tookMs, 0.99))
  }
}

/** How long answers of `GET /api/health` take while something goes on. */
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
