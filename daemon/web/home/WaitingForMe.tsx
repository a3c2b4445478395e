import { useState, type ReactNode } from 'react'
import type { Project } from '../app/projects.ts'
import { showMessage } from '../app/messages.ts'
import { hrefOf, navigate } from '../app/router.ts'
import { client } from '../app/session.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import { useSilence } from '../transcript/Waiting.tsx'
import { Questions } from '../transcript/Questions.tsx'
import { Status } from '../ui/Status.tsx'
import { Time } from '../ui/Time.tsx'
import { attention, countOf, readProject, type Asking, type Card, type ProjectAttention } from './attention.ts'

/** The number of items per kind before "Show all". */
const shownFirst = 20

interface Of<T> {
  project: Project
  item: T
}

/** Collects the items of a kind from all projects, sorted. */
function collect<T>(
  all: readonly Project[],
  known: ReadonlyMap<string, ProjectAttention>,
  pick: (of: ProjectAttention) => readonly T[],
  compare: (a: T, b: T) => number,
): Of<T>[] {
  return all
    .flatMap(project => (known.has(project.id) ? pick(known.get(project.id)!).map(item => ({ project, item })) : []))
    .sort((a, b) => compare(a.item, b.item))
}

const longestFirst = (a: Asking, b: Asking): number => (a.startedAt ?? '').localeCompare(b.startedAt ?? '')
const isPaused = ({ statusReason, questions }: Asking): boolean => statusReason === 'budget' && questions.length === 0
const isSilent = ({ statusReason, questions }: Asking): boolean => statusReason === 'silent' && questions.length === 0
const newestFirst = (a: Card, b: Card): number => b.updatedAt.localeCompare(a.updatedAt)

/** The inbox: questions and plans first, the longest wait at the top. Then silent agents, failures, and unread results. */
export function WaitingForMe({ all, isRead }: { all: readonly Project[]; isRead: boolean }) {
  const known = useStore(attention)
  const asking = collect(
    all,
    known,
    ({ asking }) => asking.filter(each => !isSilent(each) && !isPaused(each)),
    longestFirst,
  )
  const paused = collect(all, known, ({ asking }) => asking.filter(isPaused), longestFirst)
  const silent = collect(all, known, ({ asking }) => asking.filter(isSilent), longestFirst)
  const failed = collect(all, known, ({ failed }) => failed, newestFirst)
  const finished = collect(all, known, ({ finished }) => finished, newestFirst)
  const count = countOf(known)
  return (
    <section className="waiting" aria-labelledby="waiting">
      <h2 id="waiting">Inbox{count > 0 && ` (${count})`}</h2>
      {count === 0 && <p className="dim">{isRead ? 'Your inbox is empty.' : 'Loading…'}</p>}
      <Group name="Questions" all={asking}>
        {({ project, item }) => <AskingItem key={item.cardId} project={project} asking={item} />}
      </Group>
      <Group name="Silent" all={silent}>
        {({ project, item }) => <SilentItem key={item.cardId} project={project} silent={item} />}
      </Group>
      <Group name="Paused by a budget" all={paused}>
        {({ project, item }) => <PausedItem key={item.cardId} project={project} paused={item} />}
      </Group>
      <Group name="Failed" all={failed}>
        {({ project, item }) => <FailedItem key={item.id} project={project} card={item} />}
      </Group>
      <Group name="Finished, unread" all={finished}>
        {({ project, item }) => <FinishedItem key={item.id} project={project} card={item} />}
      </Group>
    </section>
  )
}

function Group<T>({ name, all, children }: { name: string; all: Of<T>[]; children: (of: Of<T>) => ReactNode }) {
  const [isWhole, setWhole] = useState(false)
  if (all.length === 0) return null
  return (
    <>
      <h3>{name}</h3>
      <ul className="items" aria-label={name}>
        {(isWhole ? all : all.slice(0, shownFirst)).map(children)}
      </ul>
      {!isWhole && all.length > shownFirst && <Button onClick={() => setWhole(true)}>Show all {all.length}</Button>}
    </>
  )
}

interface ItemProps {
  project: Project
  cardId: string
  title: string
  status: string
  reason?: string | null
  at: string | null
  children: ReactNode
}

function Item({ project, cardId, title, status, reason, at, children }: ItemProps) {
  return (
    <li className="item">
      <div className="item-head">
        <a href={hrefOf({ name: 'card', projectId: project.id, cardId })}>{title}</a>
        <Status status={status} reason={reason} />
        <span className="dim">
          {project.name}
          {at !== null && (
            <>
              {' · '}
              <Time at={at} />
            </>
          )}
        </span>
      </div>
      {children}
    </li>
  )
}

const mayWork = ({ role }: Project): boolean => role !== 'viewer'

function AskingItem({ project, asking }: { project: Project; asking: Asking }) {
  const { cardId, title, status, questions, agent, startedAt, waitingFor } = asking
  return (
    <Item project={project} cardId={cardId} title={title} status={status} at={startedAt}>
      {questions.length === 0 && <p>{waitingFor ?? `${agent ?? 'The agent'} waits.`}</p>}
      <Questions
        projectId={project.id}
        cardId={cardId}
        questions={questions}
        mayAnswer={mayWork(project)}
        onAnswered={() => readProject(project.id)}
      />
    </Item>
  )
}

/** An agent that waits for a budget. A budget manager can raise it. */
function PausedItem({ project, paused: { cardId, title, startedAt } }: { project: Project; paused: Asking }) {
  return (
    <Item project={project} cardId={cardId} title={title} status="waiting" reason="budget" at={startedAt}>
      <p>
        The agent is paused because a budget is exhausted.{' '}
        <a href={hrefOf({ name: 'project', projectId: project.id, section: 'budgets' })}>Show budgets</a>
      </p>
    </Item>
  )
}

/** A silent agent. It can continue, or a person can stop it. */
function SilentItem({ project, silent }: { project: Project; silent: Asking }) {
  const { cardId, title, startedAt } = silent
  const place = { projectId: project.id, cardId }
  return (
    <Item project={project} cardId={cardId} title={title} status="waiting" reason="silent" at={startedAt}>
      <p>{useSilence(silent)}</p>
      <div className="tools">
        {mayWork(project) && (
          <Button icon="stop" aria-label={`Cancel agent of ${title}`} onClick={() => client.agents.cancel(place)}>
            Cancel
          </Button>
        )}
        <Open {...place} title={title} />
      </div>
    </Item>
  )
}

/** Resumes the work of an agent. The button states that this starts an agent. */
function FailedItem({ project, card }: { project: Project; card: Card }) {
  const place = { projectId: project.id, cardId: card.id }
  const retry = async () => {
    await client.agents.retry(place)
    showMessage(`Resumed the agent of ${card.title}.`)
  }
  return (
    <Item
      project={project}
      cardId={card.id}
      title={card.title}
      status={card.status}
      reason={card.statusReason}
      at={card.updatedAt}
    >
      <div className="tools">
        {mayWork(project) && (
          <Button
            icon="run"
            aria-label={`Retry ${card.title}: starts the agent`}
            about="Starts the agent"
            onClick={retry}
          >
            Retry
          </Button>
        )}
        <Open {...place} title={card.title} />
      </div>
    </Item>
  )
}

function FinishedItem({ project, card }: { project: Project; card: Card }) {
  const place = { projectId: project.id, cardId: card.id }
  return (
    <Item project={project} cardId={card.id} title={card.title} status={card.status} at={card.updatedAt}>
      <div className="tools">
        <Open {...place} title={card.title} />
        <Button icon="check" aria-label={`Mark as read: ${card.title}`} onClick={() => client.cards.view(place)}>
          Mark as read
        </Button>
      </div>
    </Item>
  )
}

const Open = ({ projectId, cardId, title }: { projectId: string; cardId: string; title: string }) => (
  <Button aria-label={`Open ${title}`} onClick={() => navigate({ name: 'card', projectId, cardId })}>
    Open
  </Button>
)
