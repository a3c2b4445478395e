import { Check, OptionalNumber } from '../ui/Inputs.tsx'

interface Bound<T> {
  value: T
  onChange: (value: T) => void
  field?: string
}

/** How many cards a column takes, and whether it takes them by itself. `of` names the column where there are several. */
export const ColumnLimit = ({
  wipLimit,
  pull,
  of = '',
}: {
  wipLimit: Bound<number | null>
  pull: Bound<boolean>
  of?: string
}) => (
  <div className="column-limit">
    <OptionalNumber
      label={`Limit${of}`}
      hint={of === '' && 'How many cards it takes; empty for any number.'}
      min={1}
      max={10_000}
      {...wipLimit}
    />
    <Check
      label={`Pull cards${of}`}
      hint={
        of === '' && 'When it has room, it takes the next ready card of the column before by itself. Needs a limit.'
      }
      disabled={wipLimit.value === null}
      {...pull}
      value={pull.value && wipLimit.value !== null}
    />
  </div>
)
