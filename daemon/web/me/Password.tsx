import { useState } from 'react'
import { showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Password as PasswordField } from '../signIn/Login.tsx'
import { Form } from '../ui/Form.tsx'

/** A new password ends all other sign-ins. */
export function Password() {
  const [currentPassword, setCurrent] = useState('')
  const [newPassword, setNew] = useState('')
  const save = async () => {
    await client.auth.setPassword({ currentPassword, newPassword })
    setCurrent('')
    setNew('')
    showMessage('Changed the password. All other sign-ins were revoked.')
  }
  return (
    <Form submit="Change password" onSubmit={save}>
      <PasswordField label="Current password" value={currentPassword} onChange={setCurrent} field="currentPassword" />
      <PasswordField label="New password" value={newPassword} onChange={setNew} field="newPassword" isNew />
    </Form>
  )
}
