import { useId, useState, type InputHTMLAttributes, type ReactNode, type TextareaHTMLAttributes } from 'react'
import { Combobox } from './Combobox.tsx'
import { Field, Notes, notesOf, useFieldError } from './Field.tsx'
import { Select, type Option } from './Select.tsx'

interface About {
  label: string
  hint?: ReactNode
  /** The field name in the API. */
  field?: string
}
type Valued<T> = About & { value: T; onChange: (value: T) => void }

/** A text field of one line. */
export const TextInput = ({
  label,
  hint,
  field,
  onChange,
  ...rest
}: Valued<string> & Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange' | 'value'>) => (
  <Field label={label} hint={hint} field={field}>
    {props => <input autoComplete="off" {...rest} {...props} onChange={({ target }) => onChange(target.value)} />}
  </Field>
)

/** A whole number. NaN while the field is empty. NaN is not sent. */
export const NumberInput = ({ value, onChange, ...rest }: Valued<number> & { min: number; max: number }) => (
  <TextInput
    {...rest}
    type="number"
    required
    value={Number.isNaN(value) ? '' : String(value)}
    onChange={text => onChange(text === '' ? NaN : Number(text))}
  />
)

/** A whole number, or none while the field is empty. */
export const OptionalNumber = ({ value, onChange, ...rest }: Valued<number | null> & { min: number; max: number }) => (
  <TextInput
    {...rest}
    type="number"
    value={value === null ? '' : String(value)}
    onChange={text => onChange(text.trim() === '' ? null : Number(text))}
  />
)

/** Several lines of text. */
export const TextArea = ({
  label,
  hint,
  field,
  onChange,
  ...rest
}: Valued<string> & Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, 'onChange' | 'value'>) => (
  <Field label={label} hint={hint} field={field}>
    {props => <textarea rows={3} {...rest} {...props} onChange={({ target }) => onChange(target.value)} />}
  </Field>
)

/** A choice from a list. A value outside of the list is also shown. */
export function Choice<T extends string>({
  label,
  hint,
  field,
  value,
  onChange,
  options,
  disabled,
  isSearched,
}: Valued<T> & {
  options: readonly Option<T>[]
  disabled?: boolean
  /** For lists that can be long. */
  isSearched?: boolean
}) {
  const isKnown = options.some(([each]) => each === value)
  const List = isSearched ? Combobox : Select
  return (
    <Field label={label} hint={hint} field={field}>
      {props => (
        <List
          {...props}
          label={label}
          disabled={disabled}
          value={value}
          options={isKnown ? options : [[value, value], ...options]}
          onChange={onChange}
        />
      )}
    </Field>
  )
}

/** Yes or no. */
export function Check({
  label,
  hint,
  field,
  value,
  onChange,
  disabled,
  isPartial = false,
}: Valued<boolean> & {
  disabled?: boolean
  /** Whether the box stands for several options, of which some are selected. */
  isPartial?: boolean
}) {
  const id = useId()
  const error = useFieldError(field)
  return (
    <div className="field check">
      <input
        id={id}
        ref={box => {
          if (box) box.indeterminate = isPartial
        }}
        type="checkbox"
        checked={value}
        disabled={disabled}
        aria-describedby={notesOf({ id, hint, error })}
        onChange={({ target }) => onChange(target.checked)}
      />
      <label htmlFor={id}>{label}</label>
      <Notes id={id} hint={hint} error={error} />
    </div>
  )
}

/** Returns the values of a form, and a function that binds a control to one of them. */
export function useFields<T extends object>(initial: T) {
  const [values, setValues] = useState(initial)
  const bind = <K extends keyof T>(key: K) => ({
    field: String(key),
    value: values[key],
    onChange: (value: T[K]) => setValues(before => ({ ...before, [key]: value })),
  })
  return { values, bind, setValues }
}

export type Fields<T extends object> = ReturnType<typeof useFields<T>>

/** The lines of a text that hold something. */
export const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
