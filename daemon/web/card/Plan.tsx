import { useId, useState, type FormEvent } from 'react'
import { isOverdue, startsLater } from '../../../src/boardModel/plan.ts'
import { showError } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Icon } from '../ui/Icon.tsx'
import { Choice } from '../ui/Inputs.tsx'
import { dated, useNow } from '../ui/Time.tsx'
import { Assignees, useMyId, type PlanChange } from './Assignees.tsx'
import { useCanWork } from './canWork.ts'
import { Heading } from './Heading.tsx'
import { useCard, useOpened } from './openedCard.ts'
import { priorityOptions } from './priorityOptions.ts'

/** Who is to do a card, how soon, by when, and how much it is. */
export function Plan() {
  const opened = useOpened()
  const card = useCard()
  const canWork = useCanWork(opened.projectId)
  const me = useMyId()
  const change = async (plan: PlanChange) =>
    opened.setCard(await client.cards.update({ projectId: opened.projectId, cardId: card.id, ...plan }))
  const facts = [
    card.priority === 'normal' ? undefined : `priority ${card.priority}`,
    card.estimate === null ? undefined : `estimate ${card.estimate}`,
  ].filter(fact => fact !== undefined)
  if (
    !canWork &&
    me === null &&
    card.assignees.length === 0 &&
    facts.length === 0 &&
    card.dueAt === null &&
    card.startAt === null
  )
    return null
  return (
    <section>
      <Heading>Plan</Heading>
      <Assignees change={canWork ? change : undefined} />
      {canWork ? (
        <div className="plan">
          <Choice
            label="Priority"
            options={priorityOptions}
            value={card.priority}
            onChange={priority => void change({ priority }).catch(showError)}
          />
          <DueDate change={change} />
          <StartTime key={card.startAt} change={change} />
          <Estimate key={card.estimate} change={change} />
        </div>
      ) : (
        facts.length > 0 && <p>{facts.join(', ')}</p>
      )}
      <Due />
      <Start />
    </section>
  )
}

/** By when, in words. */
function Due() {
  const card = useCard()
  const now = useNow()
  if (card.dueAt === null) return null
  const isLate = isOverdue(card, card.columnType, now)
  return (
    <p className={`fact due ${isLate ? 'late' : ''}`}>
      <Icon name={isLate ? 'warning' : 'calendar'} />
      <span>
        {isLate ? 'Overdue since' : 'Due'} <time dateTime={card.dueAt}>{dated(card.dueAt)}</time>
      </span>
    </p>
  )
}

/** The earliest start of the card. Empty if the time has passed. */
function Start() {
  const { startAt, columnType } = useCard()
  const now = useNow()
  if (startAt === null || !startsLater({ startAt }, now)) return null
  return (
    <p className="fact due">
      <Icon name="calendar" />
      <span>
        {columnType === 'active' ? 'Starts automatically' : 'Does not start before'}{' '}
        <time dateTime={startAt}>{dated(startAt)}</time>
      </span>
    </p>
  )
}

interface Changing {
  change: (plan: PlanChange) => Promise<unknown>
}

/** A due date, at the end of the day. A time that was set elsewhere is kept until the day changes. */
function DueDate({ change }: Changing) {
  const { dueAt } = useCard()
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>Due date</label>
      <input
        id={id}
        type="date"
        value={dueAt === null ? '' : dayOf(new Date(dueAt))}
        onChange={({ target }) =>
          void change({ dueAt: target.value === '' ? null : endOf(target.value) }).catch(showError)
        }
      />
    </div>
  )
}

/**
 * A time in the person's time zone, to the minute. Saved only when complete, because each partial input would also be a time.
 */
function StartTime({ change }: Changing) {
  const { startAt } = useCard()
  const before = startAt === null ? '' : minuteOf(new Date(startAt))
  const [text, setText] = useState(before)
  const id = useId()
  const save = (event?: FormEvent) => {
    event?.preventDefault()
    if (text !== before) void change({ startAt: text === '' ? null : new Date(text).toISOString() }).catch(showError)
  }
  return (
    <form className="field" onSubmit={save}>
      <label htmlFor={id}>Starts at</label>
      <input
        id={id}
        type="datetime-local"
        value={text}
        onChange={({ target }) => setText(target.value)}
        onBlur={() => save()}
      />
    </form>
  )
}

const two = (part: number) => String(part).padStart(2, '0')
const dayOf = (at: Date) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
const minuteOf = (at: Date) => `${dayOf(at)}T${two(at.getHours())}:${two(at.getMinutes())}`
const endOf = (day: string) => new Date(`${day}T23:59:59.999`).toISOString()

function Estimate({ change }: Changing) {
  const { estimate } = useCard()
  const [text, setText] = useState(estimate === null ? '' : String(estimate))
  const id = useId()
  const save = (event?: FormEvent) => {
    event?.preventDefault()
    const next = text.trim() === '' ? null : Number(text)
    if (next !== estimate) void change({ estimate: next }).catch(showError)
  }
  return (
    <form className="field" onSubmit={save}>
      <label htmlFor={id}>Estimate</label>
      <input
        id={id}
        type="number"
        min={0}
        max={1_000_000}
        step="any"
        value={text}
        onChange={({ target }) => setText(target.value)}
        onBlur={() => save()}
      />
    </form>
  )
}
