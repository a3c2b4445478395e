import { useEffect, useLayoutEffect, useMemo, useRef, useState, type RefObject } from 'react'
import type { Message, OpenedCard, Session } from '../../../src/boardModel/openedCard.ts'
import { transcriptItems } from '../../../src/boardModel/transcriptItems.ts'
import { showError } from '../app/messages.ts'
import { settings } from '../app/settings.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import { KeepPlace } from './KeepPlace.tsx'
import { MessageView } from './MessageView.tsx'
import { RunView } from './RunView.tsx'

interface TranscriptProps {
  messages: readonly Message[]
  /** The agents whose names appear on messages. */
  sessions?: readonly Pick<Session, 'sessionId' | 'agent'>[]
  /** The text of the card that a prompt of the board contains. */
  task?: string
  older?: OpenedCard['older']
  onOlder?: () => Promise<void>
  onAtEnd?: (isAtEnd: boolean) => void
  /** The text of an empty transcript. */
  empty: string
}

const nearPx = 40

/**
 * The messages, oldest first. The view follows the end while the person is at the end. Messages that arrive otherwise
 * are counted.
 */
export function Transcript({
  messages,
  sessions = [],
  task,
  older = 'none',
  onOlder = async () => {},
  onAtEnd,
  empty,
}: TranscriptProps) {
  const [showsAll, setShowsAll] = useState(false)
  const { shown, hidden } = useShown(messages, showsAll)
  const items = useMemo(() => transcriptItems(shown, task), [shown, task])
  const names = useMemo(() => new Map(sessions.map(({ sessionId, agent }) => [sessionId, agent])), [sessions])
  const scroller = useRef<HTMLDivElement>(null)
  const list = useRef<HTMLOListElement>(null)
  const { seenId, toEnd, onScroll, hold } = useEnd(scroller, list, shown, onAtEnd)
  const fresh = seenId === undefined ? 0 : shown.length - 1 - shown.findLastIndex(({ id }) => Number(id) <= seenId)
  return (
    <div className="transcript">
      <div className="scroller" ref={scroller} onScroll={onScroll} tabIndex={0} role="region" aria-label="Transcript">
        <Older older={older} onOlder={onOlder} scroller={scroller} first={shown[0]?.id} />
        {shown.length === 0 && older === 'none' && <p className="loading">{empty}</p>}
        <KeepPlace first={items[0]?.messages.at(-1)!.id} scroller={scroller}>
          <ol ref={list} onClickCapture={hold}>
            {items.map(({ messages: [message, ...others], ...item }) => {
              const agent = names.get(message.sessionId) ?? undefined
              return others.length > 0 ? (
                <RunView key={message.id} messages={[message, ...others]} agent={agent} />
              ) : (
                <MessageView key={message.id} message={message} agent={agent} {...item} />
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

/** Keeps the end visible while the person is at the end. `seenId`: the last message when the person scrolled up. */
function useEnd(
  scroller: RefObject<HTMLDivElement | null>,
  list: RefObject<HTMLOListElement | null>,
  shown: readonly Message[],
  onAtEnd: ((isAtEnd: boolean) => void) | undefined,
) {
  const [seenId, setSeenId] = useState<number>()
  const isAtEnd = useRef(true)
  const last = Number(shown.at(-1)?.id ?? 0)
  const goToEnd = () => scroller.current?.scrollTo({ top: scroller.current.scrollHeight })
  const set = (at: boolean) => {
    if (isAtEnd.current === at) return
    isAtEnd.current = at
    onAtEnd?.(at)
    setSeenId(at ? undefined : last)
  }
  useLayoutEffect(() => {
    if (isAtEnd.current) goToEnd()
  }, [shown])
  useEffect(() => {
    const observer = new ResizeObserver(() => isAtEnd.current && goToEnd())
    observer.observe(list.current!)
    observer.observe(scroller.current!)
    return () => observer.disconnect()
  }, [])
  return {
    seenId,
    toEnd: () => {
      set(true)
      goToEnd()
      scroller.current?.focus({ preventScroll: true })
    },
    onScroll: () => {
      const { scrollHeight, scrollTop, clientHeight } = scroller.current!
      set(scrollHeight - scrollTop - clientHeight < nearPx)
    },
    /** Keeps an unfolded element in place. */
    hold: ({ target }: { target: EventTarget }) => {
      if ((target as Element).closest('summary')) set(false)
    },
  }
}

/** Requests older messages when the user scrolls near the first one. */
function Older({
  older,
  onOlder,
  scroller,
  first,
}: {
  older: OpenedCard['older']
  onOlder: () => Promise<void>
  scroller: RefObject<HTMLDivElement | null>
  first: string | undefined
}) {
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
    const observer = new IntersectionObserver(entries => entries.some(entry => entry.isIntersecting) && void read(), {
      root: scroller.current,
      rootMargin: '600px 0px 0px',
    })
    observer.observe(mark.current!)
    return () => observer.disconnect()
  }, [older, hasFailed, first])
  return (
    <div ref={mark} className="older">
      {older !== 'none' && (hasFailed ? <Button onClick={read}>Show earlier messages</Button> : 'Reading…')}
    </div>
  )
}
