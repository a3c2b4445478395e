import { useEffect, useLayoutEffect, useMemo, useRef, useState, type ReactNode, type RefObject } from 'react'
import type { Message, OpenedCard, Session } from '../../../src/boardModel/openedCard.ts'
import { transcriptItems, type TranscriptItem } from '../../../src/boardModel/transcriptItems.ts'
import { showError } from '../app/messages.ts'
import { settings } from '../app/settings.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import type { StreamLine } from './joinStream.ts'
import { KeepPlace } from './KeepPlace.tsx'
import { MessageView } from './MessageView.tsx'
import { RunView } from './RunView.tsx'

interface TranscriptProps {
  label?: string
  /** The content above the messages, which scrolls with them. */
  head?: ReactNode
  messages: readonly Message[]
  /** The entries between the messages, oldest first. */
  lines?: readonly StreamLine[]
  /** The agents whose names appear on messages. */
  sessions?: readonly Pick<Session, 'sessionId' | 'agent'>[]
  /** The text of the card that a prompt of the board contains. */
  task?: string
  older?: OpenedCard['older']
  onOlder?: () => Promise<void>
  onAtEnd?: (isAtEnd: boolean) => void
  /** Whether the view starts at the end and follows it. */
  follows?: boolean
  /** The text of an empty transcript. */
  empty: string
}

const nearPx = 40
const readAheadPx = 600
const noLines: readonly StreamLine[] = []

/**
 * The messages and other entries, oldest first. The view follows the end while the person is at the end. Entries that
 * arrive otherwise are counted.
 */
export function Transcript({
  label = 'Transcript',
  head,
  messages,
  lines = noLines,
  sessions = [],
  task,
  older = 'none',
  onOlder = async () => {},
  onAtEnd,
  follows = true,
  empty,
}: TranscriptProps) {
  const [showsAll, setShowsAll] = useState(false)
  const { shown, hidden } = useShown(messages, showsAll)
  const rows = useMemo(() => joinRows(transcriptItems(shown, task), lines), [shown, task, lines])
  const names = useMemo(() => new Map(sessions.map(({ sessionId, agent }) => [sessionId, agent])), [sessions])
  const scroller = useRef<HTMLDivElement>(null)
  const list = useRef<HTMLOListElement>(null)
  const { seenAt, toEnd, onScroll, hold, isAtEnd } = useEnd(scroller, list, rows, follows, onAtEnd)
  const fresh = seenAt === undefined ? 0 : rows.length - 1 - rows.findLastIndex(({ at }) => at <= seenAt)
  return (
    <div className="transcript">
      <div className="scroller" ref={scroller} onScroll={onScroll} tabIndex={0} role="region" aria-label={label}>
        {head}
        <Older
          older={older}
          onOlder={onOlder}
          scroller={scroller}
          first={rows[0] && `${rows[0].id} ${shown[0]?.id}`}
          isAtEnd={isAtEnd}
        />
        {rows.length === 0 && older === 'none' && <p className="loading">{empty}</p>}
        <KeepPlace first={rows[0]?.id} scroller={scroller}>
          <ol ref={list} onClickCapture={hold}>
            {rows.map(row => {
              if ('content' in row)
                return (
                  <li key={row.id} data-id={row.id} className="stream-line">
                    {row.content}
                  </li>
                )
              const [message, ...others] = row.messages
              const agent = names.get(message.sessionId) ?? undefined
              return others.length > 0 ? (
                <RunView key={message.id} messages={[message, ...others]} agent={agent} />
              ) : (
                <MessageView
                  key={message.id}
                  message={message}
                  agent={agent}
                  startsSession={row.startsSession}
                  isPrompt={row.isPrompt}
                />
              )
            })}
          </ol>
        </KeepPlace>
      </div>
      {fresh > 0 && (
        <Button className="fresh" icon="down" onClick={toEnd}>
          {fresh} new below
        </Button>
      )}
      {hidden > 0 && (
        <p className="hidden-calls">
          {showsAll ? `${hidden} hidden by your settings are shown` : `${hidden} hidden`},{' '}
          <button type="button" className="link" aria-pressed={showsAll} onClick={() => setShowsAll(!showsAll)}>
            {showsAll ? 'hide' : 'show'}
          </button>
        </p>
      )}
    </div>
  )
}

type Row = StreamLine | (TranscriptItem & { id: string; at: string })

/** Returns the messages and the other entries in order of time. A folded run has the ID of its last message. */
function joinRows(items: readonly TranscriptItem[], lines: readonly StreamLine[]): Row[] {
  const rows: Row[] = []
  let next = 0
  for (const item of items) {
    const { at } = item.messages[0]
    while (next < lines.length && lines[next]!.at < at) rows.push(lines[next++]!)
    rows.push({ ...item, id: item.messages.at(-1)!.id, at })
  }
  return [...rows, ...lines.slice(next)]
}

/** Returns the messages that the person's settings show, and the number of hidden tool calls. */
function useShown(messages: readonly Message[], showsAll: boolean) {
  const { agentReasoning, hiddenToolTypes } = useStore(settings)
  const shown = useMemo(
    () =>
      messages.filter(
        ({ role, tool }) =>
          (role !== 'thought' || agentReasoning) && (showsAll || !tool || !hiddenToolTypes.includes(tool.kind)),
      ),
    [messages, agentReasoning, hiddenToolTypes, showsAll],
  )
  const hidden = useMemo(
    () => messages.filter(({ tool }) => tool && hiddenToolTypes.includes(tool.kind)).length,
    [messages, hiddenToolTypes],
  )
  return { shown, hidden }
}

/** Keeps the end visible while the person is at the end. `seenAt`: the time of the last row when the person scrolled up. */
function useEnd(
  scroller: RefObject<HTMLDivElement | null>,
  list: RefObject<HTMLOListElement | null>,
  rows: readonly Row[],
  follows: boolean,
  onAtEnd: ((isAtEnd: boolean) => void) | undefined,
) {
  const [seenAt, setSeenAt] = useState<string>()
  const isAtEnd = useRef(follows)
  const last = rows.at(-1)?.at ?? ''
  const goToEnd = () => scroller.current?.scrollTo({ top: scroller.current.scrollHeight })
  const set = (at: boolean) => {
    if (isAtEnd.current === at) return
    isAtEnd.current = at
    onAtEnd?.(at)
    setSeenAt(at ? undefined : last)
  }
  const isNear = () => {
    const { scrollHeight, scrollTop, clientHeight } = scroller.current!
    return scrollHeight - scrollTop - clientHeight < nearPx
  }
  useLayoutEffect(() => {
    if (!follows || isAtEnd.current) return
    if (isNear()) set(true)
    else setSeenAt(last)
  }, [follows])
  useLayoutEffect(() => {
    if (isAtEnd.current) goToEnd()
  }, [rows])
  useEffect(() => {
    const observer = new ResizeObserver(() => isAtEnd.current && goToEnd())
    observer.observe(list.current!)
    observer.observe(scroller.current!)
    return () => observer.disconnect()
  }, [])
  return {
    seenAt,
    isAtEnd,
    toEnd: () => {
      set(true)
      goToEnd()
      scroller.current?.focus({ preventScroll: true })
    },
    onScroll: () => set(isNear()),
    /** Keeps an unfolded element in place. */
    hold: ({ target }: { target: EventTarget }) => {
      if ((target as Element).closest('summary')) set(false)
    },
  }
}

interface OlderProps extends Required<Pick<TranscriptProps, 'older' | 'onOlder'>> {
  scroller: RefObject<HTMLDivElement | null>
  first: string | undefined
  isAtEnd: RefObject<boolean>
}

/** Requests older entries when the user scrolls up to the first one. A user who reads the head above them uses the button. */
function Older({ older, onOlder, scroller, first, isAtEnd }: OlderProps) {
  const mark = useRef<HTMLDivElement>(null)
  const [hasFailed, setFailed] = useState(false)
  const read = async () => {
    setFailed(false)
    await onOlder().catch((error: unknown) => {
      setFailed(true)
      showError(error)
    })
  }
  useEffect(() => {
    if (older !== 'maybe' || hasFailed || first === undefined) return
    const [box, line] = [scroller.current!, mark.current!]
    let before = box.scrollTop
    const check = () => {
      const { scrollTop } = box
      const isAtHead = scrollTop === 0 && line.offsetTop > 0
      const isWanted = isAtEnd.current || (scrollTop < before && !isAtHead)
      before = scrollTop
      if (isWanted && line.offsetTop > scrollTop - readAheadPx) void read()
    }
    check()
    box.addEventListener('scroll', check, { passive: true })
    return () => box.removeEventListener('scroll', check)
  }, [older, hasFailed, first])
  return (
    <div ref={mark} className="older">
      {older === 'maybe' && (
        <Button isPlain onClick={read}>
          Show earlier
        </Button>
      )}
      {older === 'reading' && 'Loading…'}
    </div>
  )
}
