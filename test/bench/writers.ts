import { note, type Figures } from './figures.ts'
import { drive } from './load.ts'
import type { Options } from './options.ts'
import type { Servers } from './rounds.ts'
import type { Work } from './works.ts'

export const writerCounts = [32, 256]

/** Makes many clients create and move cards concurrently, and records `writers N/errors` and the successful requests per second. */
export async function measureWriters(
  { board, seeded }: Servers,
  works: readonly Work[],
  options: Options,
  figures: Figures,
): Promise<void> {
  const writes = works.filter(({ kind, via }) => via === 'key' && (kind === 'create' || kind === 'move'))
  let turn = 0
  for (const clients of writerCounts) {
    const load = await drive({
      port: board.port,
      clients,
      durationMs: options.writersMs,
      token: seeded.apiKey,
      next: () => writes[turn++ % writes.length]!.next(),
    })
    note(figures, `writers ${clients}/errors`, load.failures)
    note(figures, `writers ${clients}/rate`, load.requests / load.secs)
    if (load.firstFailure) process.stderr.write(`${clients} writers: the first failure is "${load.firstFailure}"\n`)
  }
}
