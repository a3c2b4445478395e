import { useEffect, useRef, useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { followProject } from '../app/live.ts'
import { useLoad, type Loaded } from '../app/load.ts'
import { client } from '../app/session.ts'

export type Comment = Output<Contract['comments']['list']>['items'][number]
export type Activity = Output<Contract['activity']['list']>['items'][number]
export type Entry = { at: string; key: string } & ({ comment: Comment } | { activity: Activity })
export interface Stream {
  /** The newest first. */
  entries: readonly Entry[]
  hasMore: boolean
}

const pageSize = 50
/** Events come in bursts. */
const quietMs = 250

/** Returns the comments and activity of a card as one list, which is reloaded on the card's events. */
export function useActivityStream(projectId: string, cardId: string): Loaded<Stream> & { showOlder: () => void } {
  const [size, setSize] = useState(pageSize)
  const loaded = useLoad(() => readStream({ projectId, cardId }, size), [projectId, cardId, size])
  const last = useRef<Stream>(undefined)
  if (loaded.value) last.current = loaded.value
  useEffect(() => {
    last.current = undefined
    setSize(pageSize)
    let timer: ReturnType<typeof setTimeout> | undefined
    const end = followProject(
      projectId,
      events => {
        const isMine = events.some(({ type, data }) => {
          const about = data as { id?: string; cardId?: string }
          return type === 'resync' || about.cardId === cardId || (type.startsWith('card.') && about.id === cardId)
        })
        if (isMine) timer ??= setTimeout(() => ((timer = undefined), void loaded.reload()), quietMs)
      },
      () => undefined,
    )
    return () => {
      end()
      clearTimeout(timer)
    }
  }, [projectId, cardId])
  // Keep the current entries while more are loading.
  return { ...loaded, value: loaded.value ?? last.current, showOlder: () => setSize(size + pageSize) }
}

/** The newest of both lists, as far back as both have been read. */
async function readStream(place: { projectId: string; cardId: string }, size: number): Promise<Stream> {
  const [comments, activity] = await Promise.all([
    readNewest(size, asked => client.comments.list({ ...place, ...asked })),
    readNewest(size, asked => client.activity.list({ ...place, ...asked })),
  ])
  const since = [
    comments.isWhole ? '' : comments.items.at(-1)!.createdAt,
    activity.isWhole ? '' : activity.items.at(-1)!.at,
  ]
  const from = since.toSorted().at(-1)!
  const entries = [
    ...comments.items.map((comment): Entry => ({ at: comment.createdAt, key: `comment ${comment.id}`, comment })),
    // The list of comments already contains these.
    ...activity.items
      .filter(({ action }) => action !== 'comment.created' && action !== 'comment.updated')
      .map((each): Entry => ({ at: each.at, key: `activity ${each.id}`, activity: each })),
  ]
  return {
    entries: entries.filter(({ at }) => at >= from).toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0)),
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
