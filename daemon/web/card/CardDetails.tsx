import { Advanced } from './Advanced.tsx'
import { Gates } from './Gates.tsx'
import { Locks, Monitors } from './Monitors.tsx'
import { useCard } from './openedCard.ts'
import { Preview } from './Preview.tsx'

/** The parts of a card that most cards do not have, and its advanced settings. */
export function CardDetails() {
  const { kind } = useCard()
  return (
    <>
      {kind === 'kanban' && <Gates />}
      <Preview />
      <Monitors />
      <Locks />
      <Advanced />
    </>
  )
}
