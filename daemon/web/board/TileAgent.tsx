import { useEffect } from 'react'
import type { Card } from '../../../src/boardModel/cardCache.ts'
import { awaitsMerge, nextActionOf, type NextAction } from '../../../src/boardModel/nextAction.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import { Fact, Person } from '../ui/Fact.tsx'
import { Icon } from '../ui/Icon.tsx'
import { Status } from '../ui/Status.tsx'
import { Elapsed } from '../ui/Time.tsx'
import { openCard, retry, useCanChange } from './actions.ts'
import type { BoardSession } from './boardSession.ts'
import type { ChangeSize } from './changeSizes.ts'

interface TileAgentProps {
  session: BoardSession
  card: Card
  /** The Tab key reaches the card's buttons. */
  isCurrent: boolean
}

/** The card's agent: its state, its current activity, the size of its changes and the next action. Only it renders again on activity. */
export function TileAgent({ session, card, isCurrent }: TileAgentProps) {
  const activity = useStore(session.agentActivities.state, all => all.get(card.id))
  const size = useStore(session.changeSizes.state, all => all.get(card.id))
  const isFinished = awaitsMerge(card)
  useEffect(() => {
    if (isFinished) session.changeSizes.read(card)
  }, [isFinished, card])
  const { status, statusReason, monitorQuestions } = card
  const agent = activity?.agent ?? card.agent
  const shown = status === 'idle' && monitorQuestions > 0 ? 'waiting' : status
  const reason = monitorQuestions > 0 && status !== 'waiting' ? 'monitor' : statusReason
  const text = reason === 'gate' ? `Gate: ${card.missingGate}` : activity?.text || reason?.replaceAll('_', ' ')
  const action = nextActionOf(card, size?.filesChanged)
  const name = agent ?? 'Agent'
  return (
    <div className="tile-agent">
      <Fact name={name} kind={`agent-ring ${shown}`}>
        {agent === null ? <Icon name="agent" /> : <Person name={agent} />}
      </Fact>
      <div className="agent-state">
        <p>
          <Status status={shown} />
          {status === 'running' && activity?.startedAt && <Elapsed since={activity.startedAt} />}
        </p>
        <p className="agent-doing">
          <span>
            {!(action && text) && <b>{name} </b>}
            {text}
          </span>
          {isFinished && size && size.filesChanged > 0 && <Size size={size} />}
        </p>
      </div>
      <Action session={session} card={card} isCurrent={isCurrent} action={action} />
    </div>
  )
}

const Size = ({ size: { filesChanged, insertions, deletions } }: { size: ChangeSize }) => (
  <Fact
    name={`${filesChanged} file${filesChanged === 1 ? '' : 's'} changed: ${insertions} added, ${deletions} removed`}
    kind="size"
  >
    <span className="added">+{insertions}</span> <span className="removed">−{deletions}</span>
  </Fact>
)

const actions: Record<NextAction, { label: string; about: string }> = {
  answer: { label: 'Answer', about: "Opens the agent's question" },
  review: { label: 'Review', about: 'Opens the changes' },
  merge: { label: 'Merge', about: 'Opens the approved changes' },
  retry: { label: 'Retry', about: 'Resumes the agent after a confirmation' },
}

/** The next action on a card. It never starts an agent without a confirmation. */
function Action({ session, card, isCurrent, action }: TileAgentProps & { action: NextAction | undefined }) {
  const mayChange = useCanChange(session.projectId)
  if (action === undefined || (!mayChange && action !== 'review')) return null
  const { label, about } = actions[action]
  const run = () => {
    if (action === 'retry') retry(session, card)
    else openCard(session, card.id, action === 'answer' ? 'transcript' : 'changes')
  }
  return (
    <Button
      className="next-action"
      about={about}
      aria-label={`${label}: ${card.title}`}
      tabIndex={isCurrent ? 0 : -1}
      onClick={run}
    >
      {label}
    </Button>
  )
}
