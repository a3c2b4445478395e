import { createSemaphore } from '../../../src/async/semaphore.ts'
import type { LiveMessage } from '../../../src/client/socket.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { followProject, followMine } from '../app/live.ts'
import { client } from '../app/session.ts'
import { Store } from '../app/store.ts'
import { clearSessionActivities, applyActivityEvents, readSessionActivity } from './sessionActivities.ts'

export type Card = Output<Contract['cards']['list']>[number]
export type Running = Output<Contract['agents']['active']>[number]
export type Asking = Output<Contract['agents']['get']> & { title: string }
type Stats = Output<Contract['projects']['stats']>

/** The items of a project that need a person, and its running agents. */
export interface ProjectAttention {
  projectId: string
  stats: Stats
  /** The agents that wait for an answer, and the silent ones. */
  asking: readonly Asking[]
  failed: readonly Card[]
  /** The completed cards that are unread. */
  finished: readonly Card[]
  running: readonly Running[]
}

/** The data of the projects that were read, by ID. */
export const attention = new Store<ReadonlyMap<string, ProjectAttention>>(new Map())

/** The maximum number of concurrent requests. Browsers open six connections to a server. */
const request = createSemaphore(4)
/** Events arrive in bursts, so the changed data is read once per burst. */
const settleMs = 150
const reading = new Set<string>()
const due = new Map<string, ReturnType<typeof setTimeout>>()

/** Reads the inbox of a project immediately. */
export async function readProject(projectId: string): Promise<void> {
  const [stats, active] = await Promise.all([
    request(() => client.projects.stats({ id: projectId })),
    request(() => client.agents.active({ projectId })),
  ])
  const has = (status: string) => (stats.byStatus[status] ?? 0) > 0
  const cards = (filter: { status: 'failed' | 'interrupted' | 'completed'; unread?: boolean }) =>
    has(filter.status) ? request(() => client.cards.list({ projectId, ...filter })) : []
  const [failed, interrupted, finished, asking] = await Promise.all([
    cards({ status: 'failed' }),
    cards({ status: 'interrupted' }),
    cards({ status: 'completed', unread: true }),
    readAllAsking(projectId, active, stats),
  ])
  const isOther = ({ id }: Card) => !asking.some(({ cardId }) => cardId === id)
  const running = active.filter(({ status }) => status !== 'waiting')
  for (const { cardId, status } of running)
    if (status === 'running') void request(() => readSessionActivity(projectId, cardId)).catch(() => undefined)
  const known = {
    projectId,
    stats,
    asking,
    failed: [...failed, ...interrupted].filter(isOther),
    finished: finished.filter(isOther),
    running,
  }
  attention.update(all => new Map(all).set(projectId, known))
}

/** The cards whose agents or monitors wait for an answer. Those of monitors wait also after the session. */
async function readAllAsking(projectId: string, active: readonly Running[], stats: Stats): Promise<Asking[]> {
  const monitors = stats.monitorQuestions > 0 ? await request(() => client.monitors.listProject({ projectId })) : []
  const waiting = active.filter(({ status }) => status === 'waiting').map(({ cardId }) => cardId)
  const ofMonitors = monitors.filter(({ requestId }) => requestId !== null).map(({ cardId }) => cardId)
  return Promise.all([...new Set([...waiting, ...ofMonitors])].map(cardId => readAsking({ projectId, cardId })))
}

async function readAsking(place: { projectId: string; cardId: string }): Promise<Asking> {
  const [state, { title }] = await Promise.all([
    request(() => client.agents.get(place)),
    request(() => client.cards.get(place)),
  ])
  return { ...state, title }
}

/** Reads a project soon, and again if an event arrives during the read. */
function readSoon(projectId: string): void {
  clearTimeout(due.get(projectId))
  due.set(
    projectId,
    setTimeout(() => {
      due.delete(projectId)
      if (reading.has(projectId)) return readSoon(projectId)
      reading.add(projectId)
      readProject(projectId)
        .catch(() => undefined)
        .finally(() => reading.delete(projectId))
    }, settleMs),
  )
}

const affectsAttention = ({ type }: LiveMessage): boolean =>
  type.startsWith('card.') || type === 'agent.status' || type === 'agent.permission' || type === 'resync'

/** Follows projects. @returns a function that stops, and keeps the loaded data */
export function followProjects(ids: readonly string[]): () => void {
  const ends = ids.map(id =>
    followProject(
      id,
      events => {
        applyActivityEvents(events)
        if (events.some(affectsAttention)) readSoon(id)
      },
      () => readSoon(id),
    ),
  )
  return () => {
    for (const end of ends) end()
    clearSessionActivities()
  }
}

/** Removes projects that no longer exist, and reads new ones. */
export function keepProjects(ids: readonly string[]): void {
  attention.update(all => new Map([...all].filter(([id]) => ids.includes(id))))
  for (const id of ids) if (!attention.get().has(id)) readSoon(id)
}

/** Reloads all known projects. */
export const readAll = (): void => {
  for (const id of attention.get().keys()) readSoon(id)
}

/** Reloads the project of each of the person's notifications, including unfollowed projects. @returns a function that stops */
export const followNotifications = (): (() => void) =>
  followMine(events => {
    for (const { type, data } of events)
      if (type === 'notification') readSoon((data as unknown as { projectId: string }).projectId)
  })

/** How many cards wait for the person. */
export const countOf = (all: ReadonlyMap<string, ProjectAttention>): number =>
  [...all.values()].reduce(
    (sum, { asking, failed, finished }) => sum + asking.length + failed.length + finished.length,
    0,
  )
