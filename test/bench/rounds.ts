import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import type { Child } from './child.ts'
import { median, note, quantile, type Figures } from './figures.ts'
import type { FloorKind, Job, Sample } from './ipc.ts'
import { drive, type Exchange, type Load } from './load.ts'
import type { Options } from './options.ts'
import type { Seeded } from './seed.ts'
import type { Work } from './works.ts'

export interface Servers {
  board: Child
  floor: Child
  seeded: Seeded
}
type Side = FloorKind | 'board'

export const [busyClients, calmClients] = [32, 8]
const ownHeaders = new Set([
  'content-type',
  'etag',
  'x-request-id',
  'x-content-type-options',
  'cache-control',
  'ratelimit',
  'ratelimit-policy',
])

export const tokenOf = ({ seeded }: Pick<Servers, 'seeded'>, { via }: Pick<Work, 'via'>): string =>
  via === 'key' ? seeded.apiKey : seeded.signInToken

/**
 * Measures every work on every side in turn, round after round, so that disturbances of the machine affect all alike.
 * Records `work/side/cpu` (µs per request), `rate` (requests per second) and `p99 of 32` (ms) with 32 clients, `p50` and `p99` with eight.
 */
export async function measureWorks(
  servers: Servers,
  works: readonly Work[],
  options: Options,
  figures: Figures,
  tell: (text: string) => void,
): Promise<void> {
  const samples = new Map<Work, Sample>()
  for (const work of works) samples.set(work, await checkedSample(servers, work))
  const measure = async (work: Work, side: Side, isWarmUp: boolean) => {
    if (side !== 'board') await servers.floor.use(jobOf(work, side), samples.get(work)!)
    const child = side === 'board' ? servers.board : servers.floor
    if (isWarmUp)
      await load(servers, child, work, busyClients, side === 'board' ? 2 * options.warmUpMs : options.warmUpMs)
    else await measureOnce(servers, child, work, `${work.name}/${side}`, options, figures)
  }
  for (let round = 0; round <= options.rounds; round++) {
    tell(round === 0 ? 'warming up' : `round ${round} of ${options.rounds}`)
    for (const work of works) {
      const sides: Side[] = [...work.floors, 'board']
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) await measure(work, side, round === 0)
    }
  }
  if (works.length > 0) note(figures, 'memory/load', (await servers.board.memory()).peakBytes / 1024 / 1024)
}

/** Loads one server once, and records `name/cpu`, `rate`, `p50` and so on. */
export async function measureOnce(
  servers: Pick<Servers, 'seeded'>,
  child: Child,
  work: Work,
  name: string,
  options: Pick<Options, 'loadMs' | 'calmMs'>,
  figures: Figures,
): Promise<void> {
  fetchFiles(servers)
  const before = await child.cpuMicros()
  const busy = await load(servers, child, work, busyClients, options.loadMs)
  note(figures, `${name}/cpu`, ((await child.cpuMicros()) - before) / busy.requests)
  note(figures, `${name}/rate`, busy.requests / busy.secs)
  note(figures, `${name}/p99 of ${busyClients}`, quantile(busy.latenciesMs, 0.99))
  const calm = await load(servers, child, work, calmClients, options.calmMs)
  note(figures, `${name}/p50`, median(calm.latenciesMs))
  note(figures, `${name}/p99`, quantile(calm.latenciesMs, 0.99))
}

const piece = Buffer.allocUnsafe(1024 * 1024)

/** Loads both databases into the page cache: some systems evict pages that were not read for half a minute, and then the disk is measured. */
function fetchFiles({ seeded: { dataDir, floorFile } }: Pick<Servers, 'seeded'>): void {
  for (const path of [join(dataDir, 'board.db'), floorFile].flatMap(file => [file, `${file}-wal`]).filter(existsSync)) {
    const file = openSync(path, 'r')
    while (readSync(file, piece, 0, piece.length, null) > 0);
    closeSync(file)
  }
}

/** Loads one server. @throws Error if a request fails */
export async function load(
  servers: Pick<Servers, 'seeded'>,
  { port }: Child,
  work: Work,
  clients: number,
  durationMs: number,
): Promise<Load> {
  const result = await drive({ port, clients, durationMs, token: tokenOf(servers, work), next: work.next })
  if (result.failures > 0)
    throw new Error(`${work.title}: ${result.failures} of ${result.requests} requests failed (${result.firstFailure}).`)
  return result
}

/** Requests the board once, and requires equal bytes from its floors. The responses to a write differ in ids, times and versions. */
async function checkedSample(servers: Servers, work: Work): Promise<Sample> {
  const exchange = work.next()
  const token = tokenOf(servers, work)
  const sample = await ask(servers.board.port, exchange, token)
  if (sample.status >= 300) throw new Error(`${work.title}: the board answered ${sample.status}: ${sample.body}`)
  for (const floor of work.floors) {
    await servers.floor.use(jobOf(work, floor), sample)
    const { status, body } = await ask(servers.floor.port, exchange, token)
    const same =
      work.kind === 'create' || work.kind === 'move' ? fieldsOf(body) === fieldsOf(sample.body) : body === sample.body
    if (status !== sample.status || !same)
      throw new Error(
        `${work.title}: the ${floor} floor answers ${status} ${body}, and the board ${sample.status} ${sample.body}`,
      )
  }
  return sample
}

export async function ask(port: number, { method, path, body }: Exchange, token: string): Promise<Sample> {
  const reply = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  return {
    status: reply.status,
    headers: Object.fromEntries([...reply.headers].filter(([name]) => ownHeaders.has(name))),
    body: await reply.text(),
  }
}

export const jobOf = ({ kind, via, project: { projectId, boardId, columnId } }: Work, floor: FloorKind): Job => ({
  floor,
  kind,
  via,
  projectId,
  boardId,
  columnId,
})

const fieldsOf = (body: string) => Object.keys((JSON.parse(body) as { data: object }).data).join()
