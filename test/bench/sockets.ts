import type { Child } from './child.ts'
import { median, note, quantile, type Figures } from './figures.ts'
import { drive } from './load.ts'
import { openListener, type Listener } from './listener.ts'
import type { Options } from './options.ts'
import { ask, jobOf, type Servers } from './rounds.ts'
import type { Work } from './works.ts'

export const [listenerCount, replayCount, replayedEvents] = [500, 1000, 200]
const openAtOnce = 50
const patienceMs = 30_000

/**
 * Creates cards that 500 sockets receive, next to bare sockets that get the same bytes in a loop. Records `events/side/rate` (deliveries per second),
 * `p99` (ms from the request), `cpu` (µs of the server per delivery) and `missing`.
 */
export async function measureEvents(
  { board, floor, seeded }: Servers,
  work: Work,
  options: Options,
  figures: Figures,
): Promise<void> {
  const sample = await ask(board.port, work.next(), seeded.apiKey)
  const sides = [
    ['floor', floor],
    ['board', board],
  ] as const
  const frame = await frameOf(board, seeded.signInToken, work, seeded.apiKey)
  await floor.use(jobOf(work, 'statement'), { ...sample, frame })
  const listeners = new Map<Child, Listener[]>()
  for (const [, child] of sides)
    listeners.set(child, await openAll(child.port, seeded.signInToken, listenerCount, work.project.projectId))
  for (let round = 0; round <= options.rounds; round++) {
    for (const [side, child] of round % 2 === 0 ? sides : sides.toReversed())
      await tellAll(
        child,
        listeners.get(child)!,
        work,
        seeded.apiKey,
        options.eventsARound,
        round > 0 ? { figures, side } : undefined,
      )
  }
  for (const each of listeners.values()) for (const listener of each) listener.close()
}

/** The frame that one socket gets for a created card: the floor sends the same size. */
async function frameOf(board: Child, token: string, work: Work, apiKey: string): Promise<string> {
  const [listener] = (await openAll(board.port, token, 1, work.project.projectId)) as [Listener]
  const heard = new Promise<string>(resolve => {
    listener.onMessage = text => resolve(text())
  })
  await ask(board.port, work.next(), apiKey)
  const frame = await heard
  listener.close()
  return frame
}

async function tellAll(
  child: Child,
  listeners: readonly Listener[],
  work: Work,
  apiKey: string,
  events: number,
  noteIn?: { figures: Figures; side: string },
): Promise<void> {
  const latenciesMs: number[] = []
  const before = await child.cpuMicros()
  const startedAt = performance.now()
  let missing = 0
  for (let event = 0; event < events; event++) {
    const askedAt = performance.now()
    const heard = allHear(listeners, at => latenciesMs.push(at - askedAt))
    await drive({ port: child.port, clients: 1, durationMs: 0, token: apiKey, next: work.next })
    missing += await heard
  }
  if (!noteIn) return
  const { figures, side } = noteIn
  const deliveries = latenciesMs.length
  note(figures, `events/${side}/rate`, (deliveries / (performance.now() - startedAt)) * 1000)
  note(figures, `events/${side}/p99`, quantile(latenciesMs, 0.99))
  note(figures, `events/${side}/cpu`, ((await child.cpuMicros()) - before) / deliveries)
  note(figures, `events/${side}/missing`, missing)
}

/** Resolves to the number of sockets that did not get a message in time, once all others have got it. */
function allHear(listeners: readonly Listener[], onHeard: (at: number) => void): Promise<number> {
  return new Promise(resolve => {
    let waiting = listeners.length
    const timer = setTimeout(() => resolve(waiting), patienceMs)
    for (const listener of listeners)
      listener.onMessage = (_, at) => {
        onHeard(at)
        if (--waiting > 0) return
        clearTimeout(timer)
        resolve(0)
      }
  })
}

/**
 * Makes 1,000 sockets request the same 200 missed events concurrently, and bare sockets that get the same bytes. Records
 * `replay/side/firstByte` (ms, the worst of a hundred), `firstByteOfMost`, `memory` (the peak growth of the server in MB), `cpu`
 * (µs per event), `secs` and `missing`.
 */
export async function measureReplay(
  { board, floor, seeded }: Servers,
  work: Work,
  options: Pick<Options, 'rounds'>,
  figures: Figures,
): Promise<void> {
  const { projectId } = work.project
  const token = seeded.signInToken
  const [first] = (await openAll(board.port, token, 1, projectId)) as [Listener]
  const since = await subscribe(first, projectId)
  first.close()
  for (let event = 0; event < replayedEvents; event++)
    await drive({ port: board.port, clients: 1, durationMs: 0, token: seeded.apiKey, next: work.next })
  const missed = await missedBy(board, token, projectId, since)
  await floor.use(jobOf(work, 'raw'), { status: 200, headers: {}, body: '', missed })
  const sides = [
    ['floor', floor],
    ['board', board],
  ] as const
  for (let round = 0; round < options.rounds; round++)
    for (const [side, child] of round % 2 === 0 ? sides : sides.toReversed())
      await replayAll(child, token, { projectId, since }, `replay/${side}`, figures)
}

/** The messages that one socket gets that has missed events. */
async function missedBy({ port }: Child, token: string, projectId: number, since: number): Promise<string[]> {
  const [listener] = (await openAll(port, token, 1)) as [Listener]
  const missed: string[] = []
  await subscribe(listener, projectId, since, text => missed.push(text))
  listener.close()
  return missed
}

async function replayAll(
  child: Child,
  token: string,
  { projectId, since }: { projectId: number; since: number },
  name: string,
  figures: Figures,
): Promise<void> {
  const listeners = await openAll(child.port, token, replayCount)
  const [before, cpuBefore] = [await child.memory(), await child.cpuMicros()]
  const startedAt = performance.now()
  const waits = await Promise.all(
    listeners.map(async listener => {
      const askedAt = performance.now()
      await subscribe(listener, projectId, since)
      return listener.firstByteAt! - askedAt
    }),
  )
  note(figures, `${name}/secs`, (performance.now() - startedAt) / 1000)
  note(figures, `${name}/cpu`, ((await child.cpuMicros()) - cpuBefore) / replayCount / replayedEvents)
  const after = await child.memory()
  note(figures, `${name}/firstByte`, quantile(waits, 0.99))
  note(figures, `${name}/firstByteOfMost`, median(waits))
  note(figures, `${name}/memory`, (Math.max(after.residentBytes, after.peakBytes) - before.residentBytes) / 1024 / 1024)
  note(
    figures,
    `${name}/missing`,
    listeners.reduce((sum, listener) => sum + replayedEvents + 1 - listener.messages, 0),
  )
  for (const listener of listeners) listener.close()
}

/** Opens sockets in groups, which follow a project if one is given. */
export async function openAll(port: number, token: string, count: number, projectId?: number): Promise<Listener[]> {
  const opened: Listener[] = []
  while (opened.length < count) {
    const some = await Promise.all(
      Array.from({ length: Math.min(openAtOnce, count - opened.length) }, () => openListener(port, token)),
    )
    if (projectId !== undefined) await Promise.all(some.map(listener => subscribe(listener, projectId)))
    opened.push(...some)
  }
  return opened
}

/** Resolves to the last seq when the project is followed and all events since `since` have arrived. */
function subscribe(
  listener: Listener,
  projectId: number,
  since?: number,
  onText: (text: string) => void = () => {},
): Promise<number> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('A socket did not receive its missed events.')), patienceMs)
    listener.onMessage = message => {
      const text = message()
      onText(text)
      if (!text.startsWith('{"type":"subscribed"')) return
      clearTimeout(timer)
      resolve((JSON.parse(text) as { data?: { seq: number } }).data?.seq ?? 0)
    }
    listener.send(JSON.stringify({ type: 'subscribe', payload: { projectId: String(projectId), since } }))
  })
}
