import { createContext, useContext, useId, type ReactNode } from 'react'
import { fieldReason } from '../app/reasons.ts'

/** Why the form around was refused. */
export const FormFailure = createContext<unknown>(undefined)

/** Returns the server's error for one field of the form. */
export function useFieldError(field: string | undefined): string | undefined {
  const failure = useContext(FormFailure)
  return field === undefined ? undefined : fieldReason(failure, field)
}

interface FieldProps {
  label: string
  /** More about it, below. */
  hint?: ReactNode
  /** The field name in the API. */
  field?: string
  isLabelHidden?: boolean
  children: (props: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: true }) => ReactNode
}

/** A control with its label, its hint and its error. */
export function Field({ label, hint, field, isLabelHidden, children }: FieldProps) {
  const id = useId()
  const error = useFieldError(field)
  return (
    <div className="field">
      <label htmlFor={id} className={isLabelHidden ? 'visually-hidden' : undefined}>
        {label}
      </label>
      {children({ id, 'aria-describedby': notesOf({ id, hint, error }), 'aria-invalid': error ? true : undefined })}
      <Notes id={id} hint={hint} error={error} />
    </div>
  )
}

interface NotesProps {
  /** The control's. */
  id: string
  hint?: ReactNode
  error?: string
}

/** The IDs of the elements that describe a control. */
export const notesOf = ({ id, hint, error }: NotesProps): string | undefined =>
  [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ') || undefined

/** The hint and the error of a control. */
export const Notes = ({ id, hint, error }: NotesProps) => (
  <>
    {hint && (
      <p className="hint" id={`${id}-hint`}>
        {hint}
      </p>
    )}
    {error && (
      <p className="error" id={`${id}-error`} role="alert">
        {error}
      </p>
    )}
  </>
)
