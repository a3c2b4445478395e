import { Time } from '../ui/Time.tsx'
import { Heading } from './Heading.tsx'
import { AgentChoice } from './AgentChoice.tsx'
import { Attachments } from './Attachments.tsx'
import { CardBudgets } from './CardBudgets.tsx'
import { Dependencies } from './Dependencies.tsx'
import { LabelEditor } from './LabelEditor.tsx'
import { Locks, Monitors } from './Monitors.tsx'
import { useCard } from './openedCard.ts'
import { PipelineEditor } from './Pipeline.tsx'
import { Plan } from './Plan.tsx'
import { Preview } from './Preview.tsx'
import { PreSessionTalk } from './PreSessionTalk.tsx'
import { Prompt } from './Prompt.tsx'
import { Sessions } from './Sessions.tsx'
import { Worktree } from './Worktree.tsx'

/** The card's prompt and its settings. */
export function CardTab() {
  const card = useCard()
  return (
    <div className="opened-tab">
      {card.kind === 'terminal' && card.command !== null && (
        <section>
          <Heading>Command</Heading>
          <pre className="printed">{card.command}</pre>
        </section>
      )}
      <Prompt />
      {card.kind === 'kanban' && <PreSessionTalk />}
      {card.kind !== 'assistant' && <Plan />}
      <LabelEditor />
      {card.kind !== 'assistant' && <Dependencies />}
      <Attachments />
      {card.kind === 'kanban' && <AgentChoice />}
      <Worktree />
      <Preview />
      {card.kind === 'kanban' && <PipelineEditor />}
      <Sessions />
      {card.kind === 'kanban' && <CardBudgets />}
      <Monitors />
      <Locks />
      <p className="dim">
        {card.kind === 'terminal' ? 'Terminal card' : 'Card'}, created <Time at={card.createdAt} />, changed{' '}
        <Time at={card.updatedAt} />
      </p>
    </div>
  )
}
