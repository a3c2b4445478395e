import { useState } from 'react'
import { client } from '../app/session.ts'
import { Field } from '../ui/Field.tsx'
import { Form } from '../ui/Form.tsx'

/** Called with the token of a sign-in, and whether the token is kept after the tab is closed. */
export type OnSignedIn = (token: string, isKept: boolean) => Promise<void>

/** Signing in with email and password. */
export function Login({ email: known = '', onDone }: { email?: string; onDone: OnSignedIn }) {
  const [email, setEmail] = useState(known)
  const [password, setPassword] = useState('')
  const [isKept, setKept] = useState(false)
  const send = async () => onDone((await client.auth.login({ email, password })).token, isKept)
  return (
    <Form submit="Sign in" onSubmit={send}>
      <Email value={email} onChange={setEmail} field="email" />
      <Password value={password} onChange={setPassword} field="password" />
      <Keep isKept={isKept} onChange={setKept} />
    </Form>
  )
}

interface Typed {
  value: string
  onChange: (value: string) => void
  field?: string
}

export const Email = ({ value, onChange, field }: Typed) => (
  <Field label="Email" field={field}>
    {props => (
      <input
        {...props}
        type="email"
        autoComplete="username"
        required
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
    )}
  </Field>
)

/** A password, present or new. */
export const Password = ({
  label = 'Password',
  value,
  onChange,
  field,
  isNew,
}: Typed & { label?: string; isNew?: boolean }) => (
  <Field label={label} field={field} hint={isNew ? 'At least 8 characters.' : undefined}>
    {props => (
      <input
        {...props}
        type="password"
        autoComplete={isNew ? 'new-password' : 'current-password'}
        required
        minLength={isNew ? 8 : 1}
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
    )}
  </Field>
)

/** Whether the sign-in outlives the tab. */
export const Keep = ({ isKept, onChange }: { isKept: boolean; onChange: (isKept: boolean) => void }) => (
  <label className="field check">
    <input type="checkbox" checked={isKept} onChange={({ target }) => onChange(target.checked)} />
    Stay signed in on this device
  </label>
)
