import { useState, type FormEvent, type InputHTMLAttributes } from 'react'
import { endOfDay, isOverdue, planFacts, startsLater } from '../../../src/boardModel/plan.ts'
import { isChoice, planFieldNames, planFields, type PlanFieldName } from '../../../src/contract/cards/planFields.ts'
import { showError } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Icon } from '../ui/Icon.tsx'
import { Choice, TextInput } from '../ui/Inputs.tsx'
import { formatTime, useNow } from '../ui/Time.tsx'
import { Assignees, useMyId, type PlanChange } from './Assignees.tsx'
import { useCanWork } from './canWork.ts'
import { Heading } from './Heading.tsx'
import { useCard, useOpened } from './openedCard.ts'
import { choiceOptions } from './choiceOptions.ts'

/** A card's assignees, priority, due date and estimate. */
export function Plan() {
  const opened = useOpened()
  const card = useCard()
  const canWork = useCanWork(opened.projectId)
  const me = useMyId()
  const change = async (plan: PlanChange) =>
    opened.setCard(await client.cards.update({ projectId: opened.projectId, cardId: card.id, ...plan }))
  const facts = planFacts(card)
  if (
    !canWork &&
    me === null &&
    card.assignees.length === 0 &&
    planFieldNames.every(name => card[name] === planFields[name].default)
  )
    return null
  return (
    <section>
      <Heading>Plan</Heading>
      <Assignees change={canWork ? change : undefined} />
      {canWork ? (
        <div className="plan">
          {planFieldNames.map(name => (
            <PlanInput key={name} name={name} change={change} />
          ))}
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
        {isLate ? 'Overdue since' : 'Due'} <time dateTime={card.dueAt}>{formatTime(card.dueAt)}</time>
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
        <time dateTime={startAt}>{formatTime(startAt)}</time>
      </span>
    </p>
  )
}

interface Changing {
  change: (plan: PlanChange) => Promise<unknown>
}

/** A field of the plan. */
function PlanInput({ name, change }: Changing & { name: PlanFieldName }) {
  const card = useCard()
  const { label, kind } = planFields[name]
  const save = (next: string | number | null) => void change({ [name]: next }).catch(showError)
  if (isChoice(name))
    return (
      <Choice
        label={label}
        options={choiceOptions(name)}
        value={card[name] ?? ''}
        onChange={next => save(next || null)}
      />
    )
  const value = card[name]
  if (kind === 'number')
    return (
      <TypedInput
        key={value}
        label={label}
        input={{ type: 'number', min: 0, max: 1_000_000, step: 'any' }}
        saved={value === null ? '' : String(value)}
        onSave={text => save(text.trim() === '' ? null : Number(text))}
      />
    )
  if (kind === 'time')
    return (
      <TypedInput
        key={value}
        label={label}
        input={{ type: 'datetime-local' }}
        saved={value === null ? '' : minuteOf(new Date(value))}
        onSave={text => save(text === '' ? null : new Date(text).toISOString())}
      />
    )
  // A day's time that was set elsewhere is kept until the day changes.
  return (
    <TextInput
      label={label}
      type="date"
      value={value === null ? '' : dayOf(new Date(value))}
      onChange={text => save(text === '' ? null : endOfDay(text))}
    />
  )
}

interface TypedProps {
  label: string
  input: InputHTMLAttributes<HTMLInputElement>
  saved: string
  onSave: (text: string) => void
}

/** A value that is saved only when complete, because each partial input would also be a value. */
function TypedInput({ label, input, saved, onSave }: TypedProps) {
  const [text, setText] = useState(saved)
  const save = (event?: FormEvent) => {
    event?.preventDefault()
    if (text !== saved) onSave(text)
  }
  return (
    <form onSubmit={save}>
      <TextInput {...input} label={label} value={text} onChange={setText} onBlur={() => save()} />
    </form>
  )
}

const two = (part: number) => String(part).padStart(2, '0')
const dayOf = (at: Date) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
const minuteOf = (at: Date) => `${dayOf(at)}T${two(at.getHours())}:${two(at.getMinutes())}`
