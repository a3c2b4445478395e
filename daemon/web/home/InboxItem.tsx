import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { markInbox, readInbox, type InboxItem as Item } from '../app/inbox.ts'
import { useLoad } from '../app/load.ts'
import { showMessage } from '../app/messages.ts'
import type { Project } from '../app/projects.ts'
import { hrefOf } from '../app/router.ts'
import { client } from '../app/session.ts'
import { Questions } from '../transcript/Questions.tsx'
import { useSilence } from '../transcript/Waiting.tsx'
import { Button } from '../ui/Button.tsx'
import { Menu } from '../ui/Menu.tsx'
import { Await } from '../ui/Page.tsx'
import { Status } from '../ui/Status.tsx'
import { formatTime, Time } from '../ui/Time.tsx'

interface ItemProps {
  item: Item
  /** Undefined until a new project is loaded. */
  project: Project | undefined
}

/** An item of the inbox, with the answer or the action that it needs. */
export function InboxItem({ item, project }: ItemProps) {
  const { cardTitle, cardStatus, cardStatusReason, createdAt, snoozedUntil, projectName, state } = item
  const canWork = project !== undefined && project.role !== 'viewer'
  return (
    <li className="item">
      <div className="item-head">
        <a href={hrefOf({ name: 'card', projectId: item.projectId, cardId: item.cardId, ...parts[item.kind] })}>
          {cardTitle}
        </a>
        {state === 'unread' && <span className="mark">unread</span>}
        <Status status={cardStatus} reason={cardStatusReason} />
        <span className="dim">
          {projectName} · <Time at={createdAt} />
          {snoozedUntil !== null && ` · snoozed until ${formatTime(snoozedUntil)}`}
        </span>
        <Marks item={item} />
      </div>
      <Content item={item} canWork={canWork} />
    </li>
  )
}

/** The part of the card that an item is about. */
const comments = { tab: 'activity', show: 'comment' }
const parts: Partial<Record<Item['kind'], { tab: string; show?: string }>> = {
  review: { tab: 'changes' },
  mention: comments,
  comment: comments,
}

function Content({ item, canWork }: { item: Item; canWork: boolean }) {
  const { kind, projectId, cardId, cardTitle, text } = item
  const place = { projectId, cardId }
  const retry = async () => {
    await client.agents.retry(place)
    showMessage(`Resumed the agent of ${cardTitle}.`)
  }
  if (kind === 'question' || kind === 'silent') return <Waiting item={item} canWork={canWork} />
  return (
    <>
      {text !== '' && <p className="inbox-text">{text}</p>}
      {kind === 'budget' && (
        <p>
          <a href={hrefOf({ name: 'project', projectId, section: 'budgets' })}>Show budgets</a>
        </p>
      )}
      {kind === 'failed' && canWork && (
        <div className="tools">
          <Button
            icon="run"
            aria-label={`Retry ${cardTitle}: starts the agent`}
            about="Starts the agent"
            onClick={retry}
          >
            Retry
          </Button>
        </div>
      )}
    </>
  )
}

/** An agent that waits for an answer, or shows no sign of life. */
function Waiting({ item, canWork }: { item: Item; canWork: boolean }) {
  const { kind, projectId, cardId, createdAt } = item
  const loaded = useLoad(() => client.agents.get({ projectId, cardId }), [cardId, createdAt])
  return (
    <Await of={loaded}>
      {agent =>
        kind === 'silent' ? (
          <Silent item={item} agent={agent} canWork={canWork} />
        ) : (
          <Questions
            projectId={projectId}
            cardId={cardId}
            questions={agent.questions}
            mayAnswer={canWork}
            onAnswered={() => Promise.all([loaded.reload(), readInbox()])}
          />
        )
      }
    </Await>
  )
}

function Silent({ item, agent, canWork }: { item: Item; agent: Output<Contract['agents']['get']>; canWork: boolean }) {
  const { projectId, cardId, cardTitle } = item
  return (
    <>
      <p>{useSilence(agent)}</p>
      {canWork && (
        <div className="tools">
          <Button
            icon="stop"
            aria-label={`Cancel agent of ${cardTitle}`}
            onClick={() => client.agents.cancel({ projectId, cardId })}
          >
            Cancel
          </Button>
        </div>
      )}
    </>
  )
}

function Marks({ item: { id, state, cardTitle, createdAt } }: { item: Item }) {
  // A newer occurrence, which the person has not seen, stays.
  const mark = (change: { state: Item['state']; snoozedUntil?: string }) =>
    markInbox({ ids: [id], createdUntil: createdAt, ...change })
  if (state === 'done' || state === 'snoozed')
    return (
      <Button isPlain icon="undo" label={`Return to inbox: ${cardTitle}`} onClick={() => mark({ state: 'unread' })} />
    )
  const snooze = (label: string, until: () => Date) => ({
    label,
    run: () => mark({ state: 'snoozed', snoozedUntil: until().toISOString() }),
  })
  return (
    <span className="tools">
      {state === 'unread' && (
        <Button isPlain icon="eye" label={`Mark as read: ${cardTitle}`} onClick={() => mark({ state: 'read' })} />
      )}
      <Menu
        label={`Snooze: ${cardTitle}`}
        icon="clock"
        items={() => [
          snooze('For 1 hour', () => new Date(Date.now() + 3_600_000)),
          snooze('For 4 hours', () => new Date(Date.now() + 4 * 3_600_000)),
          snooze('Until tomorrow', () => morningIn(1)),
          snooze('Until next week', () => morningIn(7)),
        ]}
      />
      <Button
        data-done
        isPlain
        icon="check"
        label={`Mark as done: ${cardTitle}`}
        onClick={() => mark({ state: 'done' })}
      />
    </span>
  )
}

/** Nine o'clock in some days. */
function morningIn(days: number): Date {
  const day = new Date()
  day.setDate(day.getDate() + days)
  day.setHours(9, 0, 0, 0)
  return day
}
