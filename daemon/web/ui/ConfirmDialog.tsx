import { AlertDialog } from '@base-ui/react/alert-dialog'
import { useState } from 'react'
import { Field } from './Field.tsx'
import { FormDialog } from './FormDialog.tsx'

/** A question to confirm before an action. */
export interface Question {
  title: string
  /** The consequences: what is lost and what remains. */
  text: string
  /** The label of the button: the action, not "OK". */
  submit: string
  /** A name that the person must type, if much is lost. */
  typed?: string
  isDanger?: boolean
  run: () => Promise<unknown>
}

/** The dialog of `confirm`. */
export function ConfirmDialog({
  title,
  text,
  submit,
  typed,
  isDanger = true,
  run,
  onClose: close,
}: Question & { onClose: () => void }) {
  const [name, setName] = useState('')
  const send = async () => {
    if (typed !== undefined && name !== typed) throw new Error(`Type ${typed} to confirm.`)
    await run()
    close()
  }
  return (
    <FormDialog title={title} kind="alert" onClose={close} submit={submit} isDanger={isDanger} onSubmit={send}>
      <AlertDialog.Description>{text}</AlertDialog.Description>
      {typed !== undefined && (
        <Field label={`Type ${typed}`}>
          {props => (
            <input {...props} autoComplete="off" value={name} onChange={({ target }) => setName(target.value)} />
          )}
        </Field>
      )}
    </FormDialog>
  )
}
