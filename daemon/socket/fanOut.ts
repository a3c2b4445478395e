import type { EventData } from '../../src/contract/events.ts'
import type { Audience } from '../../src/domain/hearing.ts'
import type { Outbox, StoredEvent } from '../../src/events/outbox.ts'
import { eventFrame, type Frame } from './frame.ts'

/** A subscriber to a project's events. */
export interface Follower {
  readonly projectId: number
  /** Gets an event of the project. Its frame is made once per audience. */
  offer(event: StoredEvent, frameFor: FrameFor): void
}

/** An event's frame for an audience; undefined when it may not hear the event. */
export type FrameFor = (audience: Audience) => Frame | undefined

/** Gets every notification, whoever its recipient is. Its frame is made once per audience. */
export type NotificationConsumer = (notification: EventData<'notification'>, frameFor: FrameFor) => void

/** Hands each new event to those who follow its project, and each notification to whoever is there. */
export interface FanOut {
  /** Hands the follower each event from now on, and perhaps some before that came after the seq `after`. */
  join(follower: Follower, after: number): void
  leave(follower: Follower): void
  /** Hands over each notification from now on. Returns the function that ends it. */
  attach(consumer: NotificationConsumer): () => void
}

/**
 * @param onProjectChanged called when a project changed or is gone, and with it perhaps who may see it
 * @param onPublished told when an event that was written at this time is handed over
 * @param onFailure told when notifications cannot be handed over before somebody follows a project
 */
export function createFanOut(
  outbox: Outbox,
  onProjectChanged: () => void,
  onPublished: (at: string) => void,
  onFailure: (error: unknown) => void,
): FanOut {
  const followers: Followers = new Map()
  const consumers = new Set<NotificationConsumer>()
  let stopListening: (() => void) | undefined

  /** The seq is one that was the newest before: what follows is read from the database or handed over. */
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

/** By the project that they follow. */
type Followers = Map<number, Set<Follower>>

function publish(
  event: StoredEvent,
  followers: Followers,
  consumers: ReadonlySet<NotificationConsumer>,
  onProjectChanged: () => void,
): void {
  const frameFor = framesOf(event)
  if (event.type === 'notification') {
    const notification = JSON.parse(event.data) as EventData<'notification'>
    for (const consume of consumers) consume(notification, frameFor)
  }
  const following = event.projectId === null ? undefined : followers.get(event.projectId)
  if (!following) return
  for (const follower of following) follower.offer(event, frameFor)
  if (event.type === 'project.updated' || event.type === 'project.deleted') onProjectChanged()
}

function framesOf(event: StoredEvent): FrameFor {
  const made = new Map<Audience, Frame | undefined>()
  return audience => {
    if (!made.has(audience)) {
      const heard = audience.hear(event)
      made.set(audience, heard && eventFrame(heard))
    }
    return made.get(audience)
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
