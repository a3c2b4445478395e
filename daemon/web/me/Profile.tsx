import { session } from '../app/session.ts'
import { useStore } from '../app/store.ts'

const roles = {
  super_admin: 'Super administrator: all of the server',
  admin: 'Administrator: accounts, agents and logs',
  user: 'User',
}

/** Who is signed in. */
export function Profile() {
  const me = useStore(session, now => (now.name === 'in' ? now.me : undefined))
  if (!me) return null
  if (me.id === '0')
    return (
      <p>
        Nobody has an account here yet: you are the operator of this machine. To let others in, make the first account
        by opening the page without the link of the command line.
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
