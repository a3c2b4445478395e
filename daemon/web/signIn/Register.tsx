import { useState } from 'react'
import { client } from '../app/session.ts'
import { Field } from '../ui/Field.tsx'
import { Form } from '../ui/Form.tsx'
import { Email, Keep, Password, type OnSignedIn } from './Login.tsx'

/** Creates an account. An invitation, if any, is accepted at the same time. */
export function Register({
  invitation,
  email: invited = '',
  onDone,
}: {
  invitation?: string
  /** The invited address. */
  email?: string
  onDone: OnSignedIn
}) {
  const [name, setName] = useState('')
  const [email, setEmail] = useState(invited)
  const [password, setPassword] = useState('')
  const [isKept, setKept] = useState(false)
  const send = async () => {
    const { token } = await client.auth.register({ email, password, displayName: name || undefined, invitation })
    await onDone(token, isKept)
  }
  return (
    <Form submit="Create account" onSubmit={send}>
      <NameAndEmail name={name} email={email} setName={setName} setEmail={setEmail} />
      <Password value={password} onChange={setPassword} field="password" isNew />
      <Keep isKept={isKept} onChange={setKept} />
    </Form>
  )
}

/** The name and email of a person. */
export const NameAndEmail = ({
  name,
  email,
  setName,
  setEmail,
}: {
  name: string
  email: string
  setName: (name: string) => void
  setEmail: (email: string) => void
}) => (
  <>
    <Field
      label="Name"
      field="displayName"
      hint="The name that other people see. Default: the part of the email before the @."
    >
      {props => <input {...props} autoComplete="name" value={name} onChange={({ target }) => setName(target.value)} />}
    </Field>
    <Email value={email} onChange={setEmail} field="email" />
  </>
)
