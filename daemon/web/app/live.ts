import { backoffMs } from '../../../src/async/backoff.ts'
import { ApiFailure } from '../../../src/client/failures.ts'
import { Live, type LiveMessage } from '../../../src/client/socket.ts'
import { liveConnection } from './session.ts'
import { Store } from './store.ts'

/** The state of the connection. `waiting`: until the next attempt. */
export type LiveState = 'connecting' | 'open' | 'waiting'
export const liveState = new Store<LiveState>('connecting')

type Listener = (events: readonly LiveMessage[]) => void
interface Followed {
  listeners: Set<Listener>
  /** Called each time the events start. Data that is read afterwards misses no event. */
  starts: Set<() => void>
  isFollowed: boolean
}

const followed = new Map<string, Followed>()
const personal = new Set<Listener>()
let live: Live | undefined
let failures = 0
let queued: LiveMessage[] = []
let isScheduled = false

/** Dispatches queued events once per frame, because events arrive in bursts. A hidden page has no frames. */
function scheduleDispatch(): void {
  if (isScheduled) return
  isScheduled = true
  if (document.hidden) setTimeout(dispatchEvents, 50)
  else requestAnimationFrame(dispatchEvents)
}

function dispatchEvents(): void {
  isScheduled = false
  const events = queued
  queued = []
  const personalEvents = events.filter(({ projectId, type }) => projectId === null || type === 'notification')
  if (personalEvents.length > 0) for (const listener of personal) listener(personalEvents)
  for (const [projectId, projectEvents] of Map.groupBy(events, event => event.projectId))
    for (const listener of followed.get(projectId ?? '')?.listeners ?? []) listener(projectEvents)
}

function open(): Live {
  const connection = new Live(liveConnection, {
    onEvent: event => {
      queued.push(event)
      scheduleDispatch()
    },
    onState: ({ name }) => {
      if (name === 'open') failures = 0
      if (name !== 'closed') liveState.set(name)
    },
    onSubscribed: projectId => {
      const project = followed.get(projectId)
      if (!project) return
      project.isFollowed = true
      for (const start of project.starts) start()
    },
  })
  for (const projectId of followed.keys()) connection.subscribe(projectId)
  // The connection ends only if it never opened, or if the token was rejected permanently.
  connection.done.catch((error: unknown) => {
    if (live !== connection) return
    live = undefined
    liveState.set('waiting')
    for (const project of followed.values()) project.isFollowed = false
    const retryInMs = backoffMs(++failures, { firstMs: 250, maxMs: 10_000, jitter: 0.5 })
    setTimeout(() => (live ??= open()), error instanceof ApiFailure ? 10_000 : retryInMs)
  })
  return connection
}

/**
 * Follows a project's events. After a break, missed events are replayed. If that is impossible, `resync` follows.
 * @param onStart called when the events have started: data that is read afterwards misses no event @returns a function
 * that stops
 */
export function followProject(projectId: string, listener: Listener, onStart: () => void): () => void {
  live ??= open()
  const project = followed.get(projectId) ?? { listeners: new Set(), starts: new Set(), isFollowed: false }
  const isNew = project.listeners.size === 0
  project.listeners.add(listener)
  project.starts.add(onStart)
  followed.set(projectId, project)
  if (isNew) live.subscribe(projectId)
  else if (project.isFollowed) onStart()
  return () => {
    project.listeners.delete(listener)
    project.starts.delete(onStart)
    if (project.listeners.size > 0 || followed.get(projectId) !== project) return
    followed.delete(projectId)
    live?.unsubscribe(projectId)
  }
}

/** Follows events without a project, and notifications. @returns a function that stops */
export function followMine(listener: Listener): () => void {
  live ??= open()
  personal.add(listener)
  return () => personal.delete(listener)
}
