import type { Child } from './child.ts'
import { median, note, quantile, type Figures } from './figures.ts'
import type { FloorKind, Job, Sample } from './ipc.ts'
import { drive, type Exchange } from './load.ts'
import type { Options } from './options.ts'
import type { Work } from './works.ts'

export interface Servers { board: Child; floor: Child; apiKey: string }
type Side = FloorKind | 'board'

const busyClients = 32
const ownHeaders = new Set(['content-type', 'etag', 'x-request-id', 'x-content-type-options', 'cache-control', 'ratelimit', 'ratelimit-policy'])

/**
 * Measures every work on every side in turn, round after round, so that what troubles the machine troubles all alike.
 * Notes `work/side/cpu` (µs a request) and `rate` (requests a second) by 32 clients, `p50` and `p99` (ms) by one.
 */
export async function measureWorks(servers: Servers, works: readonly Work[], options: Options, figures: Figures, tell: (text: string) => void): Promise<void> {
  const samples = new Map<Work, Sample>()
  for (const work of works) samples.set(work, await checkedSample(servers, work))
  const measure = async (work: Work, side: Side, isWarmUp: boolean) => {
    if (side !== 'board') await servers.floor.use(jobOf(work, side), samples.get(work)!)
    const child = side === 'board' ? servers.board : servers.floor
    if (isWarmUp) await load(servers, child, work, busyClients, side === 'board' ? 2 * options.warmUpMs : options.warmUpMs)
    else await measureOnce(servers, child, work, `${work.name}/${side}`, options, figures)
  }
  for (let round = 0; round <= options.rounds; round++) {
    tell(round === 0 ? 'warming up' : `round ${round} of ${options.rounds}`)
    for (const work of works) {
      const sides: Side[] = [...work.floors, 'board']
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) await measure(work, side, round === 0)
    }
  }
}

async function measureOnce(servers: Servers, child: Child, work: Work, name: string, options: Options, figures: Figures): Promise<void> {
  const before = await child.cpuMicros()
  const busy = await load(servers, child, work, busyClients, options.loadMs)
  note(figures, `${name}/cpu`, (await child.cpuMicros() - before) / busy.requests)
  note(figures, `${name}/rate`, busy.requests / busy.secs)
  const single = await load(servers, child, work, 1, options.singleMs)
  note(figures, `${name}/p50`, median(single.latenciesMs))
  note(figures, `${name}/p99`, quantile(single.latenciesMs, 0.99))
}

async function load({ apiKey }: Servers, { port }: Child, work: Work, clients: number, durationMs: number) {
  const result = await drive({ port, clients, durationMs, apiKey, next: work.next })
  if (result.failures > 0) throw new Error(`${work.title}: ${result.failures} of ${result.requests} requests failed (${result.firstFailure}).`)
  return result
}

/** Asks the board once, and holds its floors to the same bytes. What a write answers differs in ids, times and versions. */
async function checkedSample(servers: Servers, work: Work): Promise<Sample> {
  const exchange = work.next()
  const sample = await ask(servers.board.port, exchange, servers.apiKey)
  if (sample.status >= 300) throw new Error(`${work.title}: the board answered ${sample.status}: ${sample.body}`)
  for (const floor of work.floors) {
    await servers.floor.use(jobOf(work, floor), sample)
    const { status, body } = await ask(servers.floor.port, exchange, servers.apiKey)
    const same = work.kind === 'get' || work.kind === 'list' ? body === sample.body : fieldsOf(body) === fieldsOf(sample.body)
    if (status !== sample.status || !same) throw new Error(`${work.title}: the ${floor} floor answers ${status} ${body}, and the board ${sample.status} ${sample.body}`)
  }
  return sample
}

async function ask(port: number, { method, path, body }: Exchange, apiKey: string): Promise<Sample> {
  const reply = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers: { authorization: `Bearer ${apiKey}`, ...(body !== undefined && { 'content-type': 'application/json' }) }, body: body === undefined ? undefined : JSON.stringify(body) })
  return { status: reply.status, headers: Object.fromEntries([...reply.headers].filter(([name]) => ownHeaders.has(name))), body: await reply.text() }
}

const jobOf = ({ kind, project: { projectId, boardId, columnId } }: Work, floor: FloorKind): Job => ({ floor, kind, projectId, boardId, columnId })

const fieldsOf = (body: string) => Object.keys((JSON.parse(body) as { data: object }).data).join()
