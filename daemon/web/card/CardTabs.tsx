import { Tabs } from '@base-ui/react/tabs'
import { useEffect, useState } from 'react'
import { useStore } from '../app/store.ts'
import { lazyPart } from '../ui/lazyPart.tsx'
import { CardActivity, CardDetails } from './CardActivity.tsx'
import type { OpenedCardStore } from './openedCard.ts'
import { changeLayout, useLayout } from './panelStates.ts'
import { Properties } from './Properties.tsx'

const ReviewView = lazyPart(() => import('../review/ReviewView.tsx'), 'ReviewView', {
  fallback: <p className="loading">Loading…</p>,
})

type TabName = 'activity' | 'changes'

interface ShownPart {
  /** The tab in the address. Without it, the tab that the person opened last. */
  tab?: string
  /** The review in the address that the changes start at. */
  since?: string
  /** The filter of the activity. */
  show?: string
}

/** The visible part of a card. */
export interface CardPart extends ShownPart {
  /** Called when another part is selected. */
  onPart?: (part: ShownPart) => void
}

const knownTab = (id: string | undefined) => (id === 'activity' || id === 'changes' ? id : undefined)

/** The parts of a card, one of which is shown. */
export function CardTabs({
  opened,
  isWide,
  tab,
  since,
  show,
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
  // Answering must not remove the question's surroundings.
  const [isAsked] = useState(() => opened.state.get().questions.length > 0)
  const shown = knownTab(chosen) ?? knownTab(tab) ?? (isAsked ? 'activity' : (knownTab(kept) ?? 'activity'))
  const choose = (name: TabName) => {
    setChosen(name)
    changeLayout(projectId, cardId, { tab: name })
    onPart?.(name === 'changes' ? { tab: name, since: begin } : { tab: name, show })
  }
  const beginAt = (review: string | undefined) => {
    setBegin(review)
    onPart?.({ tab: 'changes', since: review })
  }
  return (
    <Tabs.Root className="opened-parts" value={shown} onValueChange={choose}>
      <Tabs.List className="opened-tabs" aria-label="Parts of the card" activateOnFocus>
        <Tabs.Tab value="activity">
          Activity <Asking opened={opened} />
        </Tabs.Tab>
        <Tabs.Tab value="changes">Changes</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel key={shown} className={`opened-content of-${shown}`} value={shown} tabIndex={undefined}>
        {shown === 'changes' ? (
          <ReviewView projectId={projectId} cardId={cardId} since={begin} onSince={beginAt} />
        ) : (
          <CardActivity show={show} onShow={next => onPart?.({ tab: 'activity', show: next })} isWide={isWide} />
        )}
      </Tabs.Panel>
      {isWide && shown === 'activity' && (
        <div className="rail">
          <section className="properties" aria-label="Properties">
            <Properties />
          </section>
          <CardDetails />
        </div>
      )}
    </Tabs.Root>
  )
}

/** How many questions wait. */
function Asking({ opened }: { opened: OpenedCardStore }) {
  const count = useStore(opened.state, ({ questions }) => questions.length)
  return count === 0 ? null : <span className="asking">{count === 1 ? '1 question' : `${count} questions`}</span>
}
