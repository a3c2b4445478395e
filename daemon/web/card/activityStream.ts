import { useRef } from 'react'
import type { OpenedCard } from '../../../src/boardModel/openedCard.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { useProjectEvents } from '../app/useProjectEvents.ts'

export type Comment = Output<Contract['comments']['list']>['items'][number]
export type Activity = Output<Contract['activity']['list']>['items'][number]
export type Review = Output<Contract['reviews']['list']>[number]

export const entryKinds = ['comment', 'review', 'history'] as const
/** An entry of a card's activity that is not in its transcript. */
export type Entry = { at: string; id: string } & (
  | { kind: 'comment'; comment: Comment }
  | { kind: 'review'; review: Review }
  | { kind: 'history'; activity: Activity }
)
interface Stream {
  /** The oldest first. */
  entries: readonly Entry[]
  hasMore: boolean
}

const firstSize = 50

/** Output of an agent, which is in the transcript and arrives too often to reload the stream. */
const outputEvent = /^agent\.(message|tool|plan|usage)$/

/** Returns the comments, reviews and history of a card as one list, which is reloaded on the card's events. */
export function useActivityStream(projectId: string, cardId: string) {
  const size = useRef(firstSize)
  const loaded = useLoad(() => readStream({ projectId, cardId }, size.current), [projectId, cardId])
  const { value, error, reload } = loaded
  useProjectEvents(projectId, reload, ({ type, data }) => {
    const about = data as { id?: string; cardId?: string }
    return !outputEvent.test(type) && (about.cardId === cardId || (type.startsWith('card.') && about.id === cardId))
  })
  const older: OpenedCard['older'] = value?.hasMore ? 'maybe' : value || error !== undefined ? 'none' : 'reading'
  const onOlder = () => {
    size.current *= 2
    return reload()
  }
  return { ...loaded, older, onOlder }
}

const shownOtherwise: ReadonlySet<Activity['action']> = new Set([
  'comment.created',
  'comment.updated',
  'review.submitted',
])

/** The newest entries, as far back as comments and history have been read. Reviews are few. */
async function readStream(place: { projectId: string; cardId: string }, size: number): Promise<Stream> {
  const [comments, activity, reviews] = await Promise.all([
    readNewest(size, asked => client.comments.list({ ...place, ...asked })),
    readNewest(size, asked => client.activity.list({ ...place, ...asked })),
    client.reviews.list(place),
  ])
  const since = [
    comments.isWhole ? '' : comments.items.at(-1)!.createdAt,
    activity.isWhole ? '' : activity.items.at(-1)!.at,
  ]
  const from = since.toSorted().at(-1)!
  const entries = [
    ...comments.items.map((comment): Entry => ({
      kind: 'comment',
      at: comment.createdAt,
      id: `comment ${comment.id}`,
      comment,
    })),
    ...reviews.map((review): Entry => ({ kind: 'review', at: review.createdAt, id: `review ${review.id}`, review })),
    // Comments and reviews have separate entries.
    ...activity.items
      .filter(({ action }) => !shownOtherwise.has(action))
      .map((each): Entry => ({ kind: 'history', at: each.at, id: `activity ${each.id}`, activity: each })),
  ]
  return {
    entries: entries
      .filter(({ at }) => at >= from)
      // Entries of the same time are the newest first as well.
      .toReversed()
      .toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0)),
    hasMore: !comments.isWhole || !activity.isWhole,
  }
}

interface Page<T> {
  items: T[]
  nextCursor: string | null
}
async function readNewest<T>(
  size: number,
  read: (asked: { limit: number; cursor?: number }) => Promise<Page<T>>,
): Promise<{ items: T[]; isWhole: boolean }> {
  const items: T[] = []
  let cursor: number | undefined
  do {
    const page = await read({ limit: Math.min(100, size - items.length), cursor })
    items.push(...page.items)
    cursor = page.nextCursor === null ? undefined : Number(page.nextCursor)
  } while (cursor !== undefined && items.length < size)
  return { items, isWhole: cursor === undefined }
}
