import { createSemaphore } from '../../../src/async/semaphore.ts'
import type { LiveMessage } from '../../../src/client/socket.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { followProject } from '../app/live.ts'
import { client, reloadCount } from '../app/session.ts'
import { Store } from '../app/store.ts'
import { clearSessionActivities, applyActivityEvents, readSessionActivity } from './sessionActivities.ts'

export type Running = Output<Contract['agents']['active']>[number]
type Stats = Output<Contract['projects']['stats']>

/** A project's number of cards by status, and its running agents. */
export interface ProjectState {
  stats: Stats
  running: readonly Running[]
}

/** The states of the projects that were read, by ID. */
export const projectStates = new Store<ReadonlyMap<string, ProjectState>>(new Map())

/** The maximum number of concurrent requests. Browsers open six connections to a server. */
const request = createSemaphore(4)
/** Events arrive in bursts, so the changed data is read once per burst. */
const settleMs = 150
const reading = new Set<string>()
const due = new Map<string, ReturnType<typeof setTimeout>>()

async function readProject(projectId: string): Promise<void> {
  const [stats, active] = await Promise.all([
    request(() => client.projects.stats({ id: projectId })),
    request(() => client.agents.active({ projectId })),
  ])
  const running = active.filter(({ status }) => status !== 'waiting')
  for (const { cardId, status } of running)
    if (status === 'running') void request(() => readSessionActivity(projectId, cardId)).catch(() => undefined)
  projectStates.update(all => new Map(all).set(projectId, { stats, running }))
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

const affectsState = ({ type }: LiveMessage): boolean =>
  type.startsWith('card.') || type === 'agent.status' || type === 'resync'

/** Follows projects. @returns a function that stops, and keeps the loaded data */
export function followProjects(ids: readonly string[]): () => void {
  const ends = ids.map(id =>
    followProject(
      id,
      events => {
        applyActivityEvents(events)
        if (events.some(affectsState)) readSoon(id)
      },
      () => readSoon(id),
    ),
  )
  const endReload = reloadCount.subscribe(() => ids.forEach(readSoon))
  return () => {
    endReload()
    for (const end of ends) end()
    clearSessionActivities()
  }
}
