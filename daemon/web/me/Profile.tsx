import { session } from '../app/session.ts'
import { useStore } from '../app/store.ts'

const roles = {
  super_admin: 'Super admin: full access to the server',
  admin: 'Admin: accounts, agents and logs',
  user: 'User',
}

/** The profile of the signed-in user. */
export function Profile() {
  const me = useStore(session, now => (now.name === 'in' ? now.me : undefined))
  if (!me) return null
  if (me.id === '0')
    return (
      <p>
        The server has no accounts yet, and you are the operator of this machine. To let other people sign in, open the
        page without the link from the command line, and create the first account.
      </p>
    )
  return (
    <dl className="facts">
      <dt>Name</dt>
      <dd>{me.displayName || '–'}</dd>
      <dt>Email</dt>
      <dd>{me.email}</dd>
      <dt>Role</dt>
      <dd>{roles[me.role as keyof typeof roles] ?? me.role}</dd>
    </dl>
  )
}
