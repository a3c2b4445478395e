import { CircleAlert, SignalHigh, SignalLow, SignalMedium } from 'lucide-react'
import type { ChoiceValue } from '../../../src/contract/cards/planFields.ts'

type Priority = ChoiceValue<'priority'>
const marks = { urgent: CircleAlert, high: SignalHigh, normal: SignalMedium, low: SignalLow }

/** A priority as bars and a word. */
export function PriorityMark({ priority }: { priority: Priority }) {
  const Mark = marks[priority]
  return (
    <span className={`fact priority ${priority}`}>
      <Mark className="icon" size={16} aria-hidden="true" />
      <span className="word">{`${priority[0]!.toUpperCase()}${priority.slice(1)}`}</span>
    </span>
  )
}
