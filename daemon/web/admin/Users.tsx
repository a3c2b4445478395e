import { useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { showError, showMessage } from '../app/messages.ts'
import { client, session } from '../app/session.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Choice, TextInput } from '../ui/Inputs.tsx'
import { ResourceSection, type ResourceForm, type ResourceRow } from '../ui/ResourceSection.tsx'
import { Select } from '../ui/Select.tsx'
import { showSecret } from '../ui/showSecret.tsx'
import { Time } from '../ui/Time.tsx'

type User = Output<Contract['users']['list']>['users'][number]
type Role = User['role']

const pageSize = 50
const allRoles: readonly (readonly [Role, string])[] = [
  ['user', 'User'],
  ['admin', 'Admin'],
  ['super_admin', 'Super admin'],
]
const rolesFor = (isSuper: boolean) => allRoles.filter(([role]) => isSuper || role !== 'super_admin')

const showPassword = (email: string, password: string) =>
  showSecret({ title: `Password of ${email}`, label: 'Password', value: password })

/** All accounts. */
export function Users() {
  const me = useStore(session, now => (now.name === 'in' ? now.me : undefined))
  const isSuper = me?.role === 'super_admin'
  const [search, setSearch] = useState('')
  const [offset, setOffset] = useState(0)
  const wanted = search.trim()
  const list = useLoad(
    () => client.users.list({ offset, limit: pageSize, ...(wanted !== '' && { search: wanted }) }),
    [wanted, offset],
  )
  return (
    <>
      <ResourceSection
        of={{ ...list, value: list.value?.users, set: () => undefined }}
        label="Users"
        about="People with an account on this server. Projects and organizations have separate roles."
        empty="No results"
        row={user => rowOf(user, { isSuper, isMe: user.id === me?.id, reload: list.reload })}
        form={formOf(isSuper)}
        tools={() => (
          <input
            type="search"
            aria-label="Search by name or email"
            placeholder="Search by name or email"
            value={search}
            onChange={({ target }) => {
              setSearch(target.value)
              setOffset(0)
            }}
          />
        )}
      />
      {list.value && <Pages offset={offset} total={list.value.total} go={setOffset} />}
    </>
  )
}

const formOf = (isSuper: boolean): ResourceForm<User, { email: string; name: string; role: Role }> => ({
  noun: 'user',
  initial: () => ({ email: '', name: '', role: 'user' }),
  save: async values => {
    const { user, generatedPassword } = await client.users.create(values)
    showPassword(user.email, generatedPassword)
  },
  fields: ({ bind }) => (
    <>
      <TextInput label="Name" required {...bind('name')} />
      <TextInput label="Email" type="email" required {...bind('email')} />
      <Choice label="Role" options={rolesFor(isSuper)} {...bind('role')} />
      <p className="hint">The server generates a password and shows it once.</p>
    </>
  ),
})

function Pages({ offset, total, go }: { offset: number; total: number; go: (offset: number) => void }) {
  if (total <= pageSize) return <p className="dim">{total === 1 ? '1 account' : `${total} accounts`}</p>
  return (
    <div className="tools">
      <Button disabled={offset === 0} onClick={() => go(offset - pageSize)}>
        Previous
      </Button>
      <span>
        {offset + 1} to {Math.min(total, offset + pageSize)} of {total}
      </span>
      <Button disabled={offset + pageSize >= total} onClick={() => go(offset + pageSize)}>
        Next
      </Button>
    </div>
  )
}

interface RowContext {
  isSuper: boolean
  isMe: boolean
  reload: () => Promise<void>
}

function rowOf(user: User, { isSuper, isMe, reload }: RowContext): ResourceRow {
  const { id, name, email, role, authProvider, addressVerified, createdAt } = user
  // Only super admins can change a super admin.
  const mayChange = isSuper || role !== 'super_admin'
  const change = (to: Role) => client.users.update({ id, role: to }).then(reload)
  return {
    name: email,
    title: name,
    isEditable: false,
    badges: [isMe && 'you', !addressVerified && 'email not confirmed'],
    about: (
      <>
        {email} · {authProvider === 'oidc' ? 'single sign-on' : 'password'} · since <Time at={createdAt} />
      </>
    ),
    control: mayChange ? (
      <Select
        label={`Role of ${email}`}
        value={role}
        options={rolesFor(isSuper)}
        onChange={to => void change(to).catch(showError)}
      />
    ) : (
      <span>{allRoles.find(([each]) => each === role)?.[1]}</span>
    ),
    actions: mayChange
      ? [
          !addressVerified && {
            label: 'Confirm email',
            run: () => client.users.update({ id, addressVerified: true }),
          },
          authProvider === 'local' && {
            label: 'Reset password',
            confirm: {
              title: `Reset the password of ${email}`,
              text: 'The server generates a new password and shows it once. The current password stops working.',
              submit: 'Reset',
              isDanger: true,
            },
            run: async () => showPassword(email, (await client.users.resetPassword({ id })).generatedPassword),
          },
          !isMe && { label: 'Delete…', isDanger: true, run: () => askToDelete(user, reload) },
        ]
      : [],
  }
}

async function askToDelete({ id, email }: User, reload: () => Promise<void>): Promise<void> {
  const { ownedProjectsCount: count } = await client.users.checkDelete({ id })
  const owned =
    count === 0 ? 'The account owns no projects.' : `${count} of its projects are transferred to a super admin.`
  confirm({
    title: `Delete ${email}`,
    text: `This permanently deletes the account, its sign-ins and its API keys. ${owned}`,
    submit: 'Delete',
    typed: email,
    run: async () => {
      await client.users.delete({ id })
      showMessage(`Deleted ${email}.`)
      await reload()
    },
  })
}
