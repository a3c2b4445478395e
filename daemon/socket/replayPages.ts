import { withoutDeleted, type Audience } from '../../src/domain/accounts/eventAudience.ts'
import type { Outbox, StoredEvent } from '../../src/events/outbox.ts'
import type { Database, Reader } from '../../src/store/engine/database.ts'
import { eventFrame, type Frame } from './frame.ts'

/** The first page is small, so that the first event arrives soon. */
export const firstPageSize = 4
export const pageSize = 32
/** Frames are joined up to this size: one write of 32 KiB costs little more than one of a single event. */
const minPartBytes = 32 * 1024
const maxCachedBytes = 4 * 1024 * 1024
const maxCachedPages = 64

/** Joined frames, and the seq of the last event in them. */
interface Part {
  frames: Frame
  seq: number
}
/** Events of a project in order. */
interface Page {
  parts: readonly Part[]
  /** The seq up to which events were read. */
  seq: number
  /** Whether the page is full, so that more events can follow. */
  isFull: boolean
  /** Whether events were pruned before they were read. */
  hasLost: boolean
  /** The outbox's newest seq before the read. */
  last: number
}

/** The cursor and the audience of a socket's replay. */
interface ReplayPosition {
  projectId: number
  seq: number
  audience: Audience
}

/** Reads missed events from the database. */
export interface ReplayPages {
  /** Reads at most `maxEvents` events of the project after the seq, and keeps those visible to the audience. */
  read(position: ReplayPosition, maxEvents: number): Promise<Page>
}

/** Caches the latest pages: clients that reconnect together, as after a restart, have missed the same events. */
export function createReplayPages(outbox: Outbox, db: Database): ReplayPages {
  const kept = new Map<string, { page: Promise<Page>; bytes: number }>()
  let keptBytes = 0
  const dropPage = (key: string) => {
    keptBytes -= kept.get(key)?.bytes ?? 0
    kept.delete(key)
  }
  const cachePage = (key: string, page: Promise<Page>) => {
    const entry = { page, bytes: 0 }
    kept.set(key, entry)
    page.then(
      ({ parts }) => {
        if (kept.get(key) !== entry) return
        keptBytes += entry.bytes = parts.reduce((sum, { frames }) => sum + frames.length, 0)
        for (const [oldest] of kept) {
          if (keptBytes <= maxCachedBytes && kept.size <= maxCachedPages) break
          dropPage(oldest)
        }
      },
      () => dropPage(key),
    )
    return page
  }
  return {
    read: async ({ projectId, seq, audience }, maxEvents) => {
      const last = await outbox.lastSeq()
      const key = `${projectId} ${seq} ${maxEvents} ${last} ${await db.version()} ${audience.name}`
      return kept.get(key)?.page ?? cachePage(key, readPage(outbox, db, { projectId, seq, audience, maxEvents, last }))
    },
  }
}

async function readPage(
  outbox: Outbox,
  db: Reader,
  { projectId, seq, audience, maxEvents, last }: ReplayPosition & { maxEvents: number; last: number },
): Promise<Page> {
  const events = await outbox.replay(projectId, seq, maxEvents)
  const hasLost = seq < (await outbox.oldestSeq()) - 1
  const visible = hasLost ? [] : events.map(event => audience.view(event)).filter(event => event !== undefined)
  return {
    parts: toParts(await withoutDeleted(db, visible)),
    seq: events.at(-1)?.seq ?? seq,
    isFull: !hasLost && events.length === maxEvents,
    hasLost,
    last,
  }
}

function toParts(events: readonly StoredEvent[]): Part[] {
  const parts: Part[] = []
  let waiting: Frame[] = []
  let bytes = 0
  for (const [index, event] of events.entries()) {
    const frame = eventFrame(event)
    waiting.push(frame)
    bytes += frame.length
    if (bytes < minPartBytes && index < events.length - 1) continue
    parts.push({ frames: Buffer.concat(waiting, bytes), seq: event.seq })
    waiting = []
    bytes = 0
  }
  return parts
}
