import { useState } from 'react'
import type { CardDetail } from '../../../src/boardModel/cardCache.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useCanWork } from '../card/canWork.ts'
import { useLoad } from '../app/load.ts'
import { hrefOf } from '../app/router.ts'
import { client } from '../app/session.ts'
import { useProjectEvents } from '../app/useProjectEvents.ts'
import { Button } from '../ui/Button.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import type { CardPlace } from './reviewStore.ts'

type Queue = Output<Contract['landings']['list']>
type Landing = Queue['entries'][number]

/** The class of each state, which decides its color. */
const classes = {
  waiting: 'queued',
  testing: 'running',
  landed: 'completed',
  rejected: 'failed',
  cancelled: 'idle',
} as const
const isOpen = ({ status }: Landing): boolean => status === 'waiting' || status === 'testing'

/** The landing queue of a project, live. */
function useQueue(projectId: string) {
  const queue = useLoad(() => client.landings.list({ projectId }), [projectId])
  useProjectEvents(projectId, queue.reload, ({ type }) => type.startsWith('landing.'))
  return queue.value
}

/** The place of a card in the landing queue, or why it left the queue. Empty for a card that is merged or was never added. */
export function LandingState({ place, card }: { place: CardPlace; card: CardDetail }) {
  const queue = useQueue(place.projectId)
  const canWork = useCanWork(place.projectId)
  const [isShown, setShown] = useState(false)
  const own = queue?.entries.filter(({ cardId }) => cardId === place.cardId) ?? []
  const entry = own.find(isOpen) ?? own[0]
  if (!queue || !entry || card.mergedAt !== null || entry.status === 'cancelled' || entry.status === 'landed')
    return null
  const ahead = queue.entries.filter(each => isOpen(each) && each.branch === entry.branch && each.id !== entry.id)
  const before = ahead.filter(({ id }) => Number(id) < Number(entry.id)).length
  return (
    <section className="notice" aria-label="Landing queue">
      <p role="status">{wordsOf(entry, before)}</p>
      <div className="tools">
        <Button onClick={() => setShown(true)}>Landing queue</Button>
        {canWork && (isOpen(entry) || entry.withAgent) && (
          <Button onClick={() => client.landings.cancel({ projectId: place.projectId, landingId: entry.id })}>
            Remove from the queue
          </Button>
        )}
      </div>
      {isShown && <QueueDialog projectId={place.projectId} queue={queue} onClose={() => setShown(false)} />}
    </section>
  )
}

function wordsOf({ status, branch, reason, withAgent }: Landing, before: number): string {
  if (status === 'testing') return `The gates run on the merge with ${branch}.`
  if (status === 'rejected')
    return `Not merged into ${branch}. ${reason}${withAgent ? ' The agent of the card fixes it, and the card returns to its place.' : ''}`
  if (reason !== null) return `Waits to be merged into ${branch}. ${reason}`
  return `Waits to be merged into ${branch}${before === 0 ? '' : `, after ${before === 1 ? 'one card' : `${before} cards`}`}.`
}

/** The queue as a train: the card that is tested, those behind it, and the ones that landed before. */
function QueueDialog({ projectId, queue, onClose }: { projectId: string; queue: Queue; onClose: () => void }) {
  const { entries, isPaused } = queue
  const canWork = useCanWork(projectId)
  return (
    <Dialog title="Landing queue" kind="wide" onClose={onClose}>
      {isPaused && <p className="warning">The queue is paused.</p>}
      <ol className="gates">
        {entries.map(entry => (
          <li key={entry.id}>
            <span className={`status ${classes[entry.status]}`}>{entry.status}</span>
            <a href={hrefOf({ name: 'card', projectId, cardId: entry.cardId, tab: 'changes' })}>{entry.cardTitle}</a>
            <span className="dim">
              into {entry.branch}
              {entry.reason !== null && ` · ${entry.reason}`}
            </span>
          </li>
        ))}
      </ol>
      {canWork && (
        <div className="tools">
          <Button onClick={() => client.landings[isPaused ? 'resume' : 'pause']({ projectId })}>
            {isPaused ? 'Resume the queue' : 'Pause the queue'}
          </Button>
        </div>
      )}
    </Dialog>
  )
}
