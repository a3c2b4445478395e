import { useId, useState } from 'react'
import { Button } from './Button.tsx'
import { useFieldError } from './Field.tsx'
import { Check } from './Inputs.tsx'

/** Options with a common subject. */
export interface CheckGroup<T extends string> {
  label: string
  /** The options, each with its text. */
  options: ReadonlyArray<readonly [value: T, text: string]>
}

interface GroupedChecksProps<T extends string> {
  label: string
  /** The field name in the API. */
  field?: string
  value: readonly T[]
  onChange: (value: readonly T[]) => void
  groups: ReadonlyArray<CheckGroup<T>>
  /** Whether the options of a group are visible at first. Default: whether some but not all of them are selected. */
  isOpen?: boolean
}

/** Several of many options, in groups that can be selected and cleared as a whole. */
export function GroupedChecks<T extends string>({
  label,
  field,
  value,
  onChange,
  groups,
  isOpen,
}: GroupedChecksProps<T>) {
  const error = useFieldError(field)
  const all = groups.flatMap(valuesOf)
  return (
    <fieldset className="check-groups">
      <legend>{label}</legend>
      <div className="tools">
        <span className="dim" role="status">
          {all.filter(each => value.includes(each)).length} of {all.length}
        </span>
        <Button isPlain aria-label={`${label}: all`} onClick={() => onChange(all)}>
          All
        </Button>
        <Button isPlain aria-label={`${label}: none`} onClick={() => onChange([])}>
          None
        </Button>
      </div>
      {groups.map(group => (
        <Group key={group.label} group={group} value={value} onChange={onChange} isOpen={isOpen} />
      ))}
      {error && (
        <p className="error" role="alert">
          {error}
        </p>
      )}
    </fieldset>
  )
}

const valuesOf = <T extends string>({ options }: CheckGroup<T>): T[] => options.map(([each]) => each)

interface GroupProps<T extends string> extends Pick<GroupedChecksProps<T>, 'value' | 'onChange' | 'isOpen'> {
  group: CheckGroup<T>
}

function Group<T extends string>({ group, value, onChange, isOpen: isOpenAtFirst }: GroupProps<T>) {
  const own = valuesOf(group)
  const count = own.filter(each => value.includes(each)).length
  const isPartial = count > 0 && count < own.length
  const [isOpen, setOpen] = useState(isOpenAtFirst ?? isPartial)
  const id = useId()
  const set = (values: readonly T[], isIn: boolean) => {
    const rest = value.filter(each => !values.includes(each))
    onChange(isIn ? [...rest, ...values] : rest)
  }
  return (
    <div className="check-group" role="group" aria-label={group.label}>
      <div className="tools">
        <Check
          label={group.label}
          value={count === own.length}
          isPartial={isPartial}
          onChange={isIn => set(own, isIn)}
        />
        <span className="dim">
          {count} of {own.length}
        </span>
        <Button
          isPlain
          icon={isOpen ? 'up' : 'down'}
          label={`${isOpen ? 'Hide' : 'Show'} ${group.label}`}
          aria-expanded={isOpen}
          aria-controls={id}
          onClick={() => setOpen(!isOpen)}
        />
      </div>
      <div id={id} className="options" hidden={!isOpen}>
        {group.options.map(([each, text]) => (
          <Check key={each} label={text} value={value.includes(each)} onChange={isIn => set([each], isIn)} />
        ))}
      </div>
    </div>
  )
}

/** Returns options that are named "subject.verb" in groups by their subject. */
export function groupsBySubject<T extends string>(
  names: readonly T[],
  labels: Readonly<Record<string, string>>,
): CheckGroup<T>[] {
  const groups = new Map<string, CheckGroup<T>>()
  for (const name of names) {
    const subject = name.slice(0, name.indexOf('.'))
    const label = labels[subject] ?? subject
    const { options } = groups.get(label) ?? { options: [] }
    groups.set(label, { label, options: [...options, [name, name]] })
  }
  return [...groups.values()]
}
