import { Gates } from './Gates.tsx'
import { Heading } from './Heading.tsx'
import { Advanced } from './Advanced.tsx'
import { Attachments } from './Attachments.tsx'
import { Locks, Monitors } from './Monitors.tsx'
import { useCard } from './openedCard.ts'
import { Preview } from './Preview.tsx'
import { PreSessionTalk } from './PreSessionTalk.tsx'
import { Prompt } from './Prompt.tsx'
import { FoldedProperties } from './Properties.tsx'
import { Sessions } from './Sessions.tsx'

/**
 * The card's prompt and its work.
 * @param isWide whether the properties are next to it
 */
export function CardTab({ isWide }: { isWide: boolean }) {
  const card = useCard()
  return (
    <div className="opened-tab">
      {!isWide && <FoldedProperties />}
      {card.kind === 'terminal' && card.command !== null && (
        <section>
          <Heading>Command</Heading>
          <pre className="printed">{card.command}</pre>
        </section>
      )}
      <Prompt />
      {card.kind === 'kanban' && <PreSessionTalk />}
      <Attachments />
      {card.kind === 'kanban' && <Gates />}
      <Preview />
      <Sessions />
      <Monitors />
      <Locks />
      <Advanced />
    </div>
  )
}
