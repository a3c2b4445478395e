import { useState } from 'react'
import type { Question } from './confirm.tsx'
import { Field } from './Field.tsx'
import { FormDialog } from './FormDialog.tsx'

/** The question that `confirm` asks. */
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
    if (typed !== undefined && name !== typed) throw new Error(`Type ${typed} to go on.`)
    await run()
    close()
  }
  return (
    <FormDialog title={title} onClose={close} submit={submit} isDanger={isDanger} onSubmit={send}>
      <p>{text}</p>
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
