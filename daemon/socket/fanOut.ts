import type { Outbox, StoredEvent } from '../../src/events/outbox.ts'
import { eventFrame, type Frame } from './frame.ts'

/** Somebody who follows a project. */
export interface Follower {
  readonly projectId: number
  /** Takes an event of the project. The frame is made once for all who take it. */
  offer(event: StoredEvent, frame: () => Frame): void
}

/** Hands each new event to those who follow its project. */
export interface FanOut {
  /** Hands the follower each event from now on, and perhaps some before that came after the seq `after`. */
  join(follower: Follower, after: number): void
  leave(follower: Follower): void
}

/** @param onProjectChanged called when a project changed or is gone, and with it perhaps who may see it */
export function createFanOut(outbox: Outbox, onProjectChanged: () => void): FanOut {
  const followers = new Map<number, Set<Follower>>()
  let stopListening: (() => void) | undefined

  const publish = (events: StoredEvent[]) => {
    for (const event of events) {
      const following = event.projectId === null ? undefined : followers.get(event.projectId)
      if (!following) continue
      let frame: Frame | undefined
      for (const follower of following) follower.offer(event, () => frame ??= eventFrame(event))
      if (event.type === 'project.updated' || event.type === 'project.deleted') onProjectChanged()
    }
  }

  return {
    join: (follower, after) => {
      const following = followers.get(follower.projectId)
      if (following) following.add(follower)
      else followers.set(follower.projectId, new Set([follower]))
      stopListening ??= outbox.subscribe(publish, after)
    },
    leave: follower => {
      const following = followers.get(follower.projectId)
      following?.delete(follower)
      if (following?.size === 0) followers.delete(follower.projectId)
      if (followers.size > 0) return
      stopListening?.()
      stopListening = undefined
    },
  }
}
