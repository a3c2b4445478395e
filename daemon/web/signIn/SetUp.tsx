import { useState } from 'react'
import { ApiFailure } from '../../../src/client/failures.ts'
import { client } from '../app/session.ts'
import { Field } from '../ui/Field.tsx'
import { Form } from '../ui/Form.tsx'
import { Keep, Password, type OnSignedIn } from './Login.tsx'
import { NameAndEmail } from './Register.tsx'

/**
 * Making the first account, which runs the server. Other accounts than the server's own need the code that the server
 * printed.
 */
export function SetUp({ onDone }: { onDone: OnSignedIn }) {
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [setupCode, setSetupCode] = useState('')
  const [needsCode, setNeedsCode] = useState(false)
  const [isKept, setKept] = useState(true)
  const send = async () => {
    const profile = { email, password, displayName: name || undefined }
    const { token } = await client.auth
      .setup({ ...profile, setupCode: setupCode || undefined })
      .catch((error: unknown) => {
        if (error instanceof ApiFailure && error.code === 'SETUP_CODE_REQUIRED') setNeedsCode(true)
        throw error
      })
    await onDone(token, isKept)
  }
  return (
    <>
      <p>This server has no accounts yet. Create the first one, which has full access.</p>
      <Form submit="Create account" onSubmit={send}>
        <NameAndEmail name={name} email={email} setName={setName} setEmail={setEmail} />
        <Password value={password} onChange={setPassword} field="password" isNew />
        {needsCode && (
          <Field label="Setup code" hint="The server printed the code at startup." field="setupCode">
            {props => (
              <input
                {...props}
                autoComplete="off"
                spellCheck={false}
                required
                value={setupCode}
                onChange={({ target }) => setSetupCode(target.value)}
              />
            )}
          </Field>
        )}
        <Keep isKept={isKept} onChange={setKept} />
      </Form>
    </>
  )
}
