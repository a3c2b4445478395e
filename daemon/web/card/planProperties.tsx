import { endOfDay, isOverdue } from '../../../src/boardModel/plan.ts'
import {
  isChoice,
  planFieldNames,
  planFields,
  type ChoiceName,
  type PlanFieldName,
} from '../../../src/contract/cards/planFields.ts'
import type { CardDetail } from '../../../src/boardModel/cardCache.ts'
import { Combobox, type PickerState } from '../ui/Combobox.tsx'
import { formatTime } from '../ui/Time.tsx'
import type { PlanChange } from './Assignees.tsx'
import { choiceOptions } from './choiceOptions.ts'
import { TypedValue, type Property } from './Property.tsx'

interface PlanState {
  card: Pick<CardDetail, PlanFieldName | 'columnType' | 'archivedAt'>
  now: number
  canWork: boolean
  change: (plan: PlanChange) => void
}

const icons = { priority: 'priority', dueAt: 'calendar', startAt: 'clock', estimate: 'estimate' } as const

/** The properties of a card's plan: priority, due date, start and estimate. */
export const planProperties = (state: PlanState): Property[] =>
  planFieldNames.map(name => ({
    label: planFields[name].label,
    icon: icons[name],
    // A priority always has a value.
    isSet: isChoice(name) || state.card[name] !== null,
    render: (isNew, onClose) =>
      isChoice(name) ? (
        <PlanChoice name={name} isOpenAtFirst={isNew} onClose={onClose} {...state} />
      ) : (
        <TypedValue
          label={planFields[name].label}
          isNew={isNew}
          onClose={onClose}
          disabled={!state.canWork}
          {...typedField(name, state)}
        />
      ),
  }))

const PlanChoice = ({
  name,
  card,
  now: _,
  canWork,
  change,
  ...picker
}: PlanState & PickerState & { name: ChoiceName }) => (
  <Combobox
    {...picker}
    label={planFields[name].label}
    options={choiceOptions(name)}
    value={card[name] ?? ''}
    disabled={!canWork}
    onChange={next => change({ [name]: next || null })}
  />
)

/** Returns the input of a typed field, its value and its text. */
function typedField(name: Exclude<PlanFieldName, ChoiceName>, { card, now, change }: PlanState) {
  const { dueAt, startAt, estimate } = card
  if (name === 'estimate')
    return {
      input: { type: 'number', min: 0, max: 1_000_000, step: 'any' },
      saved: estimate === null ? '' : String(estimate),
      shown: estimate,
      onSave: (text: string) => change({ estimate: text.trim() === '' ? null : Number(text) }),
    }
  if (name === 'startAt')
    return {
      input: { type: 'datetime-local' },
      saved: startAt === null ? '' : minuteOf(new Date(startAt)),
      shown: startAt && formatTime(startAt),
      hint:
        card.columnType === 'active'
          ? 'The card starts automatically at this time.'
          : 'The card does not start before this time.',
      onSave: (text: string) => change({ startAt: text === '' ? null : new Date(text).toISOString() }),
    }
  // A day's time that was set elsewhere is kept until the day changes.
  return {
    input: { type: 'date' },
    saved: dueAt === null ? '' : dayOf(new Date(dueAt)),
    shown: dueAt && `${formatTime(dueAt, 'day')}${isOverdue(card, card.columnType, now) ? ', overdue' : ''}`,
    suggestions: daysFrom(now),
    onSave: (text: string) => change({ dueAt: text === '' ? null : endOfDay(text) }),
  }
}

/** The days that a due date often has. */
function daysFrom(nowMs: number) {
  const day = (days: number) => {
    const at = new Date(nowMs)
    at.setDate(at.getDate() + days)
    return dayOf(at)
  }
  return [
    [day(0), 'Today'],
    [day(1), 'Tomorrow'],
    [day(7), 'In a week'],
  ] as const
}

const two = (part: number) => String(part).padStart(2, '0')
const dayOf = (at: Date) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
const minuteOf = (at: Date) => `${dayOf(at)}T${two(at.getHours())}:${two(at.getMinutes())}`
