import { useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { showError, showMessage } from '../app/messages.ts'
import { client, session } from '../app/session.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { Choice, TextInput, useFields } from '../ui/Inputs.tsx'
import { Menu, type MenuItem } from '../ui/Menu.tsx'
import { Select } from '../ui/Select.tsx'
import { Await } from '../ui/Page.tsx'
import { SecretDialog } from '../ui/Secret.tsx'
import { Time } from '../ui/Time.tsx'
import { Table } from '../ui/Table.tsx'

type User = Output<Contract['users']['list']>['users'][number]
type Role = User['role']
interface Password {
  email: string
  password: string
}

const pageSize = 50
const roles: readonly (readonly [Role, string])[] = [
  ['user', 'User'],
  ['admin', 'Admin'],
  ['super_admin', 'Super admin'],
]

/** All accounts. */
export function Users() {
  const [search, setSearch] = useState('')
  const [offset, setOffset] = useState(0)
  const wanted = search.trim()
  const list = useLoad(
    () => client.users.list({ offset, limit: pageSize, ...(wanted !== '' && { search: wanted }) }),
    [wanted, offset],
  )
  const [isMaking, setMaking] = useState(false)
  const [password, setPassword] = useState<Password>()
  return (
    <>
      <div className="tools">
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
        <Button isMain icon="add" onClick={() => setMaking(true)}>
          New user
        </Button>
      </div>
      <Await of={list}>
        {({ users, total }) => (
          <>
            <Table label="Users" head={['Name', 'Email', 'Role', 'Sign-in', 'Since', '']}>
              {users.map(user => (
                <UserRow key={user.id} user={user} reload={list.reload} onPassword={setPassword} />
              ))}
            </Table>
            <Pages offset={offset} total={total} go={setOffset} />
          </>
        )}
      </Await>
      {isMaking && (
        <NewUser
          onClose={() => setMaking(false)}
          onMade={made => {
            setMaking(false)
            setPassword(made)
            void list.reload()
          }}
        />
      )}
      {password && (
        <SecretDialog
          title={`Password of ${password.email}`}
          label="Password"
          value={password.password}
          onClose={() => setPassword(undefined)}
        />
      )}
    </>
  )
}

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

interface UserRowProps {
  user: User
  reload: () => Promise<void>
  onPassword: (password: Password) => void
}

function UserRow({ user, reload, onPassword }: UserRowProps) {
  const me = useStore(session, now => (now.name === 'in' ? now.me : undefined))
  const isSuper = me?.role === 'super_admin'
  // Only super admins can change a super admin.
  const mayChange = isSuper || user.role !== 'super_admin'
  const update = async (change: { role?: Role; addressVerified?: true }) => {
    await client.users.update({ id: user.id, ...change })
    await reload()
  }
  return (
    <tr>
      <td>{user.name}</td>
      <td>
        {user.email}
        {!user.addressVerified && <div className="dim">email not confirmed</div>}
      </td>
      <td>
        {mayChange ? (
          <Select
            label={`Role of ${user.email}`}
            value={user.role}
            options={roles.filter(([role]) => isSuper || role !== 'super_admin')}
            onChange={role => void update({ role }).catch(showError)}
          />
        ) : (
          roles.find(([role]) => role === user.role)?.[1]
        )}
      </td>
      <td>{user.authProvider === 'oidc' ? 'single sign-on' : 'password'}</td>
      <td>
        <Time at={user.createdAt} />
      </td>
      <td>
        {mayChange && (
          <Menu
            label={`Actions for ${user.email}`}
            items={itemsOf({
              user,
              isMe: user.id === me?.id,
              reload,
              onPassword,
              confirmAddress: () => update({ addressVerified: true }),
            })}
          />
        )}
      </td>
    </tr>
  )
}

function itemsOf({
  user: { id, email, authProvider, addressVerified },
  isMe,
  reload,
  onPassword,
  confirmAddress,
}: UserRowProps & { isMe: boolean; confirmAddress: () => Promise<void> }): MenuItem[] {
  const reset = () =>
    confirm({
      title: `Reset the password of ${email}`,
      text: 'The server generates a new password and shows it once. The current password stops working.',
      submit: 'Reset',
      run: async () => onPassword({ email, password: (await client.users.resetPassword({ id })).generatedPassword }),
    })
  const remove = async () => {
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
  return [
    ...(addressVerified ? [] : [{ label: 'Confirm email', run: confirmAddress }]),
    ...(authProvider === 'local' ? [{ label: 'Reset password', run: reset }] : []),
    ...(isMe ? [] : [{ label: 'Delete', isDanger: true, run: remove }]),
  ]
}

function NewUser({ onClose, onMade }: { onClose: () => void; onMade: (made: Password) => void }) {
  const isSuper = useStore(session, now => now.name === 'in' && now.me.role === 'super_admin')
  const { values, bind } = useFields<{ email: string; name: string; role: Role }>({ email: '', name: '', role: 'user' })
  const make = async () => {
    const { user, generatedPassword } = await client.users.create(values)
    onMade({ email: user.email, password: generatedPassword })
  }
  return (
    <FormDialog title="New user" onClose={onClose} submit="Create" onSubmit={make}>
      <TextInput label="Name" required {...bind('name')} />
      <TextInput label="Email" type="email" required {...bind('email')} />
      <Choice label="Role" options={roles.filter(([role]) => isSuper || role !== 'super_admin')} {...bind('role')} />
      <p className="hint">The server generates a password and shows it once.</p>
    </FormDialog>
  )
}
