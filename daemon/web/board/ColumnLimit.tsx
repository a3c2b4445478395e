import { Check, OptionalNumber } from '../ui/Inputs.tsx'

interface Bound<T> {
  value: T
  onChange: (value: T) => void
  field?: string
}

/** The limit of a column, and whether it pulls cards. `of` names the column if there are several. */
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
      hint={of === '' && 'Maximum number of cards. Empty: no limit.'}
      min={1}
      max={10_000}
      {...wipLimit}
    />
    <Check
      label={`Pull cards${of}`}
      hint={of === '' && 'Pulls the next ready card from the previous column when there is capacity. Requires a limit.'}
      disabled={wipLimit.value === null}
      {...pull}
      value={pull.value && wipLimit.value !== null}
    />
  </div>
)
