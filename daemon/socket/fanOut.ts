import type { EventData } from '../../src/contract/server/events.ts'
import type { Audience } from '../../src/domain/accounts/eventAudience.ts'
import { inboxEventTypes } from '../../src/domain/cards/inbox.ts'
import type { Outbox, StoredEvent } from '../../src/events/outbox.ts'
import { eventFrame, type Frame } from './frame.ts'

/** A subscriber to a project's events. */
export interface Follower {
  readonly projectId: number
  /** Receives an event of the project. Its frame is created once per audience. */
  offer(event: StoredEvent, frameFor: FrameFor): void
}

/** Returns an event's frame for an audience. Returns undefined if the audience cannot see the event. */
export type FrameFor = (audience: Audience) => Frame | undefined

/** Receives every event for a user, with the ID of that user, and every event that can change inboxes. */
export type PersonalConsumer = (event: StoredEvent, recipientId: string | undefined) => void

/** Delivers each new event to the followers of its project, and each event that concerns users to every consumer. */
export interface FanOut {
  /** Delivers each event to the follower from now on, and possibly earlier ones after the seq `after`. */
  join(follower: Follower, after: number): void
  leave(follower: Follower): void
  /** Delivers each event that concerns users from now on. Returns the function that unsubscribes. */
  attach(consumer: PersonalConsumer): () => void
}

/**
 * @param onProjectChanged called when a project changed or was deleted, which can change who can see it
 * @param onPublished called with the time at which a delivered event was written
 * @param onFailure called when events cannot be delivered before the first project is followed
 */
export function createFanOut(
  outbox: Outbox,
  onProjectChanged: () => void,
  onPublished: (at: string) => void,
  onFailure: (error: unknown) => void,
): FanOut {
  const followers: Followers = new Map()
  const consumers = new Set<PersonalConsumer>()
  let stopListening: (() => void) | undefined

  /** Subscribes to the events after the seq `after`. Followers read earlier ones from the database. */
  const listen = (after: number) => {
    stopListening ??= outbox.subscribe(events => {
      for (const event of events) publish(event, followers, consumers, onProjectChanged)
      onPublished(events[0]!.at)
    }, after)
  }
  const stopIfIdle = () => {
    if (followers.size + consumers.size > 0) return
    stopListening?.()
    stopListening = undefined
  }

  return {
    join: (follower, after) => {
      add(followers, follower)
      listen(after)
    },
    leave: follower => {
      remove(followers, follower)
      stopIfIdle()
    },
    attach: consumer => {
      consumers.add(consumer)
      void outbox.lastSeq().then(last => {
        if (consumers.has(consumer)) listen(last)
      }, onFailure)
      return () => {
        consumers.delete(consumer)
        stopIfIdle()
      }
    },
  }
}

/** The followers, by the project that they follow. */
type Followers = Map<number, Set<Follower>>

function publish(
  event: StoredEvent,
  followers: Followers,
  consumers: ReadonlySet<PersonalConsumer>,
  onProjectChanged: () => void,
): void {
  const frameFor = framesOf(event)
  const recipientId = recipientOf(event)
  if (recipientId !== undefined || inboxEventTypes.has(event.type))
    for (const consume of consumers) consume(event, recipientId)
  const following = event.projectId === null ? undefined : followers.get(event.projectId)
  if (!following) return
  for (const follower of following) follower.offer(event, frameFor)
  if (event.type === 'project.updated' || event.type === 'project.deleted') onProjectChanged()
}

const recipientOf = ({ type, data }: StoredEvent): string | undefined =>
  type === 'notification' || type === 'inbox.updated'
    ? (JSON.parse(data) as EventData<'notification' | 'inbox.updated'>).userId
    : undefined

function framesOf(event: StoredEvent): FrameFor {
  const made = new Map<string, Frame | undefined>()
  return audience => {
    if (!made.has(audience.name)) {
      const visible = audience.view(event)
      made.set(audience.name, visible && eventFrame(visible))
    }
    return made.get(audience.name)
  }
}

function add(followers: Followers, follower: Follower): void {
  const following = followers.get(follower.projectId)
  if (following) following.add(follower)
  else followers.set(follower.projectId, new Set([follower]))
}

function remove(followers: Followers, follower: Follower): void {
  const following = followers.get(follower.projectId)
  following?.delete(follower)
  if (following?.size === 0) followers.delete(follower.projectId)
}
