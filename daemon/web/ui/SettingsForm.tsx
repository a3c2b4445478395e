import type { ReactNode } from 'react'
import { showMessage } from '../app/messages.ts'
import { Form } from './Form.tsx'
import { useFields, type Fields } from './Inputs.tsx'

interface SettingsFormProps<V extends object> {
  title?: string
  hint?: ReactNode
  /** The text of the submit button. */
  submit: string
  /** The message after the settings are saved. */
  saved: string
  initial: V
  save: (values: V) => Promise<unknown>
  children: (fields: Fields<V>) => ReactNode
}

/** A panel with settings that are saved together. */
export function SettingsForm<V extends object>(props: SettingsFormProps<V>) {
  const { title, hint, submit, saved, initial, save, children } = props
  const fields = useFields(initial)
  const send = async () => {
    await save(fields.values)
    showMessage(saved)
  }
  return (
    <div className="panel">
      {title !== undefined && <h3>{title}</h3>}
      {hint && <div className="hint">{hint}</div>}
      <Form submit={submit} onSubmit={send}>
        {children(fields)}
      </Form>
    </div>
  )
}
