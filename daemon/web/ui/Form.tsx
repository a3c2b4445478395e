import { useState, type FormEvent, type ReactNode } from 'react'
import { reasonOf } from '../app/reasons.ts'
import { Button } from './Button.tsx'
import { FormFailure } from './Field.tsx'

interface FormProps {
  /** The text of the submit button. */
  submit: string
  /** @throws errors to display: field errors at their fields, all others below */
  onSubmit: () => Promise<unknown>
  children: ReactNode
  isDanger?: boolean
  /** Whether a submit would do nothing. */
  isDisabled?: boolean
  onCancel?: () => void
}

/** A form with a submit button that is busy during a submit, and with an error display. */
export function Form({ submit, onSubmit, children, isDanger, isDisabled, onCancel }: FormProps) {
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const send = async (event: FormEvent) => {
    event.preventDefault()
    if (isBusy) return
    setBusy(true)
    setError(undefined)
    try {
      await onSubmit()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <form className="form" onSubmit={event => void send(event)}>
      <FormFailure value={error}>{children}</FormFailure>
      {error !== undefined && (
        <p className="error" role="alert">
          {reasonOf(error)}
        </p>
      )}
      <div className="buttons">
        {onCancel && <Button onClick={onCancel}>Cancel</Button>}
        <Button
          type="submit"
          isMain={!isDanger}
          isDanger={isDanger}
          disabled={isDisabled}
          aria-disabled={isBusy || undefined}
          aria-busy={isBusy || undefined}
        >
          {submit}
        </Button>
      </div>
    </form>
  )
}
