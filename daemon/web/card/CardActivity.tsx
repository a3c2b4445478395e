import { useMemo, useRef, useState } from 'react'
import { useStore } from '../app/store.ts'
import { Talk } from '../transcript/Talk.tsx'
import { Button } from '../ui/Button.tsx'
import { Failure } from '../ui/Page.tsx'
import { Segments } from '../ui/Segments.tsx'
import { entryKinds, useActivityStream } from './activityStream.ts'
import { useCanWork } from './canWork.ts'
import { Attachments } from './Attachments.tsx'
import { Advanced } from './Advanced.tsx'
import { Composer } from './Composer.tsx'
import { Gates } from './Gates.tsx'
import { Heading } from './Heading.tsx'
import { Locks, Monitors } from './Monitors.tsx'
import { useCard, useOpened } from './openedCard.ts'
import { Preview } from './Preview.tsx'
import { PreSessionBox, RefineButton } from './PreSession.tsx'
import { usePreSession } from './preSession.ts'
import { Prompt } from './Prompt.tsx'
import { FoldedProperties } from './Properties.tsx'
import { StreamEntry } from './StreamEntry.tsx'

const filters = ['all', 'transcript', ...entryKinds] as const
type Filter = (typeof filters)[number]

const filterTexts: Readonly<Record<Filter, string>> = {
  all: 'All',
  transcript: 'Transcript',
  comment: 'Comments',
  review: 'Reviews',
  history: 'History',
}

interface CardActivityProps {
  /** The filter in the address. Undefined for everything. */
  show: string | undefined
  onShow: (show: string | undefined) => void
  /** Whether the properties are next to the activity. */
  isWide: boolean
}

/** The prompt of a card, and its transcript, comments, reviews and history in order of time. */
export function CardActivity({ show, onShow, isWide }: CardActivityProps) {
  const opened = useOpened()
  const card = useCard()
  const stream = useActivityStream(opened.projectId, opened.cardId)
  const hasSession = useStore(opened.state, ({ sessions }) => sessions.length > 0)
  const filter = filters.find(each => each === show) ?? 'all'
  const { value, reload } = stream
  const [hasWritten, setWritten] = useState(false)
  const showComment = () => {
    setWritten(true)
    return reload()
  }
  const preSession = usePreSession(opened.projectId, opened.cardId)
  const canWork = useCanWork(opened.projectId)
  const top = useRef<HTMLDivElement>(null)
  const lines = useMemo(() => {
    const shown = value?.entries.filter(({ kind }) => filter === 'all' || filter === kind) ?? []
    return shown.map(entry => ({ ...entry, content: <StreamEntry entry={entry} onChanged={reload} /> }))
  }, [value, filter, reload])
  return (
    <Talk
      opened={opened}
      label="Activity"
      empty={filter === 'all' ? 'No activity yet.' : `No ${filterTexts[filter].toLowerCase()} yet.`}
      follows={hasSession || hasWritten || filter !== 'all'}
      showsMessages={filter === 'all' || filter === 'transcript'}
      others={filter === 'transcript' ? undefined : { lines, older: stream.older, onOlder: stream.onOlder }}
      head={
        <>
          <div className="card-parts" ref={top}>
            {!isWide && <FoldedProperties />}
            {card.kind === 'terminal' && card.command !== null && (
              <section>
                <Heading>Command</Heading>
                <pre className="printed">{card.command}</pre>
              </section>
            )}
            <Prompt />
            <Attachments>{preSession.value === null && <RefineButton onStarted={preSession.reload} />}</Attachments>
            {!isWide && <CardDetails />}
          </div>
          <div className="activity-filter">
            <Segments
              label="Filter activity"
              value={filter}
              options={filters.map(each => ({
                value: each,
                text: filterTexts[each],
                count: each === 'comment' ? card.commentCount : 0,
              }))}
              onChange={next => onShow(next === 'all' ? undefined : next)}
            />
            <Button isPlain icon="up" label="Go to the prompt" onClick={() => top.current!.scrollIntoView()} />
          </div>
          {value === undefined && stream.error !== undefined && <Failure error={stream.error} onRetry={reload} />}
        </>
      }
    >
      {preSession.value && canWork ? (
        <PreSessionBox session={preSession.value} onEnded={preSession.reload} />
      ) : (
        <Composer key={filter} isComment={filter === 'comment'} onComment={showComment} />
      )}
    </Talk>
  )
}

/** The parts of a card that most cards do not have, and its advanced settings. */
export function CardDetails() {
  const { kind } = useCard()
  return (
    <>
      {kind === 'kanban' && <Gates />}
      <Preview />
      <Monitors />
      <Locks />
      <Advanced />
    </>
  )
}
