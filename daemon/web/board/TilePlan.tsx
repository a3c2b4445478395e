import type { Card } from '../../../src/boardModel/cardCache.ts'
import { assigneeNames, isOverdue, startsLater } from '../../../src/boardModel/plan.ts'
import { Person } from '../ui/Fact.tsx'
import { Icon } from '../ui/Icon.tsx'
import { formatTime, useNow } from '../ui/Time.tsx'
import { tooltip } from '../ui/tooltip.ts'

const signs = { urgent: 'up', high: 'up', normal: undefined, low: 'down' } as const

/** The priority and due date of a card. */
export function TilePlan({ card, columnType }: { card: Card; columnType: string | undefined }) {
  const { priority, dueAt, startAt } = card
  const sign = signs[priority]
  return (
    <>
      {sign && (
        <span className={`fact priority ${priority}`}>
          <Icon name={sign} />
          {priority}
        </span>
      )}
      {startAt !== null && <Start startAt={startAt} />}
      {dueAt !== null && <Due card={card} dueAt={dueAt} columnType={columnType} />}
    </>
  )
}

/** The start time of a card, if it is in the future. */
function Start({ startAt }: { startAt: string }) {
  const now = useNow()
  if (!startsLater({ startAt }, now)) return null
  return (
    <span className="fact due" {...tooltip(`starts ${formatTime(startAt)}`)}>
      <Icon name="calendar" />
      <span>
        starts <time dateTime={startAt}>{formatTime(startAt, 'shortDay')}</time>
      </span>
    </span>
  )
}

function Due({ card, dueAt, columnType }: { card: Card; dueAt: string; columnType: string | undefined }) {
  const now = useNow()
  const isLate = isOverdue(card, columnType, now)
  const isOfThisYear = new Date(dueAt).getFullYear() === new Date(now).getFullYear()
  return (
    <span className={`fact due ${isLate ? 'late' : ''}`} {...tooltip(`due ${formatTime(dueAt)}`)}>
      <Icon name={isLate ? 'warning' : 'calendar'} />
      <span>
        {isLate ? 'overdue' : 'due'}{' '}
        <time dateTime={dueAt}>{formatTime(dueAt, isOfThisYear ? 'shortDay' : 'day')}</time>
      </span>
    </span>
  )
}

const maxShown = 3

/** The assignees of a card. */
export function TilePeople({ card }: { card: Card }) {
  const names = assigneeNames(card)
  if (names.length === 0) return null
  return (
    <span
      className="people"
      role="img"
      aria-label={`assigned to ${names.join(', ')}`}
      {...tooltip(`assigned to ${names.join(', ')}`, { isName: true })}
    >
      {names.slice(0, maxShown).map((name, at) => (
        <Person key={at} name={name} />
      ))}
      {names.length > maxShown && <span className="dim">+{names.length - maxShown}</span>}
    </span>
  )
}
