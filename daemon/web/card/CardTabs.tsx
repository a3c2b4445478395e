import { Tabs } from '@base-ui/react/tabs'
import { useEffect, useState } from 'react'
import { useStore } from '../app/store.ts'
import { lazyPart } from '../ui/lazyPart.tsx'
import { CardTab } from './CardTab.tsx'
import type { OpenedCardStore } from './openedCard.ts'
import { changeLayout, useLayout } from './panelStates.ts'
import { Properties } from './Properties.tsx'

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

const knownTab = (id: string | undefined): TabName | undefined => tabs.find(each => each.id === id)?.id

/** The parts of a card, one of which is shown. */
export function CardTabs({
  opened,
  isWide,
  tab,
  since,
  onPart,
}: CardPart & { opened: OpenedCardStore; isWide: boolean }) {
  const { projectId, cardId } = opened
  const kept = useLayout(cardId)?.tab
  const [chosen, setChosen] = useState<string>()
  const [begin, setBegin] = useState(since)
  // Another address of the same card.
  useEffect(() => {
    setChosen(undefined)
    if (tab === 'changes') setBegin(since)
  }, [tab, since])
  // Answering must not remove the transcript.
  const [isAsked] = useState(() => opened.state.get().questions.length > 0)
  const shown = knownTab(chosen) ?? knownTab(tab) ?? (isAsked ? 'transcript' : (knownTab(kept) ?? 'card'))
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
    <Tabs.Root className="opened-parts" value={shown} onValueChange={choose}>
      <Tabs.List className="opened-tabs" aria-label="Parts of the card" activateOnFocus>
        {tabs.map(each => (
          <Tabs.Tab key={each.id} value={each.id}>
            {each.label}
            {each.id === 'transcript' && <Asking opened={opened} />}
            {each.id === 'comments' && <Counted opened={opened} />}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel key={shown} className={`opened-content of-${shown}`} value={shown} tabIndex={undefined}>
        {shown === 'card' && <CardTab isWide={isWide} />}
        {shown === 'transcript' && <CardTranscript />}
        {shown === 'comments' && <CommentsTab />}
        {shown === 'changes' && <ReviewView projectId={projectId} cardId={cardId} since={begin} onSince={beginAt} />}
      </Tabs.Panel>
      {isWide && shown !== 'changes' && (
        <section className="properties" aria-label="Properties">
          <Properties />
        </section>
      )}
    </Tabs.Root>
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
