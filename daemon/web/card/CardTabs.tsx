import { useEffect, useId, useState, type KeyboardEvent } from 'react'
import { useStore } from '../app/store.ts'
import { lazyPart } from '../ui/lazyPart.tsx'
import { CardTab } from './CardTab.tsx'
import type { OpenedCardStore } from './openedCard.ts'
import { changeLayout, useLayout } from './panelStates.ts'

const opening = { fallback: <p className="loading">Loading…</p> }
const ReviewView = lazyPart(() => import('../review/ReviewView.tsx'), 'ReviewView', opening)
const CommentsTab = lazyPart(() => import('./CommentsTab.tsx'), 'CommentsTab', opening)
const CardTranscript = lazyPart(() => import('../transcript/CardTranscript.tsx'), 'CardTranscript', opening)

const tabs = [
  { id: 'card', label: 'Card' },
  { id: 'transcript', label: 'Transcript' },
  { id: 'changes', label: 'Changes' },
  { id: 'comments', label: 'Comments' },
] as const

type TabName = (typeof tabs)[number]['id']

/** The visible part of a card. */
export interface CardPart {
  /** The tab in the address. Without it, the tab that the person opened last. */
  tab?: string
  /** The review in the address that the changes start at. */
  since?: string
  /** Called when another part is selected. */
  onPart?: (tab: string, since?: string) => void
}

const known = (id: string | undefined): TabName | undefined => tabs.find(each => each.id === id)?.id

/** The parts of a card, one of which is shown. */
export function CardTabs({ opened, tab, since, onPart }: CardPart & { opened: OpenedCardStore }) {
  const { projectId, cardId } = opened
  const kept = useLayout(cardId)?.tab
  const [chosen, setChosen] = useState<string>()
  const [begin, setBegin] = useState(since)
  // Another address of the same card.
  useEffect(() => {
    setChosen(undefined)
    if (tab === 'changes') setBegin(since)
  }, [tab, since])
  const shown = known(chosen) ?? known(tab) ?? known(kept) ?? 'card'
  const id = useId()
  const choose = (name: TabName) => {
    setChosen(name)
    changeLayout(projectId, cardId, { tab: name })
    onPart?.(name, name === 'changes' ? begin : undefined)
  }
  const beginAt = (review: string | undefined) => {
    setBegin(review)
    onPart?.('changes', review)
  }
  return (
    <>
      <TabList opened={opened} id={id} shown={shown} onChoose={choose} />
      <div
        className={`opened-content of-${shown}`}
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={`${id}-${shown}`}
      >
        {shown === 'card' && <CardTab />}
        {shown === 'transcript' && <CardTranscript />}
        {shown === 'comments' && <CommentsTab />}
        {shown === 'changes' && <ReviewView projectId={projectId} cardId={cardId} since={begin} onSince={beginAt} />}
      </div>
    </>
  )
}

interface TabListProps {
  opened: OpenedCardStore
  id: string
  shown: TabName
  onChoose: (name: TabName) => void
}

function TabList({ opened, id, shown, onChoose }: TabListProps) {
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    const next = (tabs.findIndex(each => each.id === shown) + step + tabs.length) % tabs.length
    onChoose(tabs[next]!.id)
    event.currentTarget.querySelectorAll<HTMLElement>('[role=tab]')[next]!.focus()
  }
  return (
    <div className="opened-tabs" role="tablist" aria-label="Parts of the card" onKeyDown={onKeyDown}>
      {tabs.map(each => (
        <button
          key={each.id}
          type="button"
          role="tab"
          id={`${id}-${each.id}`}
          aria-selected={each.id === shown}
          aria-controls={`${id}-panel`}
          tabIndex={each.id === shown ? 0 : -1}
          onClick={() => onChoose(each.id)}
        >
          {each.label}
          {each.id === 'transcript' && <Asking opened={opened} />}
          {each.id === 'comments' && <Counted opened={opened} />}
        </button>
      ))}
    </div>
  )
}

/** How many comments there are. */
function Counted({ opened }: { opened: OpenedCardStore }) {
  const count = useStore(opened.state, ({ card }) => card?.commentCount ?? 0)
  return count === 0 ? null : <span className="dim"> {count}</span>
}

/** How many questions wait. */
function Asking({ opened }: { opened: OpenedCardStore }) {
  const count = useStore(opened.state, ({ questions }) => questions.length)
  return count === 0 ? null : <span className="asking">{count === 1 ? '1 question' : `${count} questions`}</span>
}
