import { useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { showError, showMessage } from '../app/messages.ts'
import { loadProjects } from '../app/projects.ts'
import { hrefOf, navigate } from '../app/router.ts'
import { client } from '../app/session.ts'
import { useLoad } from '../app/load.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Form } from '../ui/Form.tsx'
import { Choice, useFields } from '../ui/Inputs.tsx'
import { Await } from '../ui/Page.tsx'
import { SecretDialog } from '../ui/Secret.tsx'
import { Select } from '../ui/Select.tsx'
import { formatTime, Time } from '../ui/Time.tsx'
import { UserEmail } from '../ui/UserEmail.tsx'
import type { SectionProps } from './sectionProps.ts'

type Entry = Output<Contract['members']['list']>[number]
type Member = Extract<Entry, { pending: false }>
type Invitation = Extract<Entry, { pending: true }>
type Role = Member['role']

const roles = [
  ['viewer', 'viewer: reads the project'],
  ['member', 'member: works with cards and agents'],
  ['admin', 'admin: also manages the project'],
] as const

/** The members and invitations of the project. */
export function MembersSection(props: SectionProps) {
  const { project, mayManage } = props
  const list = useLoad(() => client.members.list({ id: project.id }), [project.id])
  const [invited, setInvited] = useState<{ email: string; token: string }>()
  return (
    <>
      {mayManage && <Add {...props} onAdded={list.reload} onInvited={setInvited} />}
      <Await of={list}>
        {entries => (
          <ul className="rows panel" aria-label="Members">
            {entries.map(entry => (
              <li key={entry.email}>
                {entry.pending ? (
                  <InvitationRow {...props} invitation={entry} reload={list.reload} onInvited={setInvited} />
                ) : (
                  <MemberRow {...props} member={entry} reload={list.reload} />
                )}
              </li>
            ))}
            {entries.length === 0 && <li>No other members yet.</li>}
          </ul>
        )}
      </Await>
      {invited && (
        <SecretDialog
          title={`Invitation of ${invited.email}`}
          label="Invitation link"
          hint={`Send the link to ${invited.email}. The link is shown only once, and anyone who has it can accept the invitation.`}
          value={new URL(hrefOf({ name: 'invitation', token: invited.token }), location.href).href}
          onClose={() => setInvited(undefined)}
        />
      )}
    </>
  )
}

interface Reloading {
  reload: () => Promise<void>
}

function Add({
  project,
  onAdded,
  onInvited,
}: SectionProps & { onAdded: () => Promise<void>; onInvited: (made: { email: string; token: string }) => void }) {
  const { values, bind, setValues } = useFields<{ email: string; role: Role }>({ email: '', role: 'member' })
  const add = async () => {
    const made = await client.members.add({ id: project.id, ...values })
    if (made.pending) onInvited(made)
    else showMessage(`${made.email} is now a member.`)
    setValues({ email: '', role: values.role })
    await onAdded()
  }
  return (
    <div className="panel">
      <h3>Add member</h3>
      <Form submit="Add" onSubmit={add}>
        <UserEmail
          label="Email"
          hint="A person with an account is added immediately. For other people, you get an invitation link to send."
          {...bind('email')}
        />
        <Choice label="Role" options={roles} {...bind('role')} />
      </Form>
    </div>
  )
}

function MemberRow({ project, me, mayManage, member, reload }: SectionProps & { member: Member } & Reloading) {
  const name = member.displayName || member.email
  const isMe = member.userId === me.id
  const place = { projectId: project.id, userId: member.userId }
  const remove = () =>
    confirm({
      title: isMe ? `Leave ${project.name}` : `Remove ${name}`,
      text: isMe
        ? 'You lose access to the project. A project admin can add you again.'
        : `${name} loses access to the project, and their keys and webhooks stop working in it.`,
      submit: isMe ? 'Leave' : 'Remove',
      run: async () => {
        await client.members.remove(place)
        if (!isMe) return reload()
        navigate({ name: 'home' })
        loadProjects().catch(showError)
      },
    })
  return (
    <>
      <div className="what">
        <strong>{name}</strong> {isMe && <span className="dim">(you)</span>}
        <div className="dim">
          {member.email}
          {member.acceptedAt === null && ' · has not opened the project yet'}
        </div>
      </div>
      {mayManage ? (
        <Select
          label={`Role of ${name}`}
          value={member.role}
          options={roles.map(([role]) => [role, role])}
          onChange={role =>
            void client.members
              .update({ ...place, role })
              .then(reload)
              .catch(showError)
          }
        />
      ) : (
        <span>{member.role}</span>
      )}
      {(mayManage || isMe) && (
        <Button isDanger onClick={remove} aria-label={isMe ? 'Leave project' : `Remove ${name}`}>
          {isMe ? 'Leave' : 'Remove'}
        </Button>
      )}
    </>
  )
}

function InvitationRow({
  project,
  mayManage,
  invitation,
  reload,
  onInvited,
}: SectionProps & Reloading & { invitation: Invitation; onInvited: (made: { email: string; token: string }) => void }) {
  const { email, role, expiresAt } = invitation
  const place = { projectId: project.id, email }
  const renew = async () => {
    onInvited(await client.members.renewInvitation(place))
    await reload()
  }
  const withdraw = () =>
    confirm({
      title: `Withdraw invitation of ${email}`,
      text: 'The invitation link stops working.',
      submit: 'Withdraw',
      run: async () => {
        await client.members.removeInvitation(place)
        await reload()
      },
    })
  return (
    <>
      <div className="what">
        <strong>{email}</strong>
        <div className="dim">
          invited as {role} <Time at={invitation.createdAt} /> ·{' '}
          {Date.parse(expiresAt) < Date.now() ? 'expired' : `until ${formatTime(expiresAt, 'day')}`}
        </div>
      </div>
      {mayManage && (
        <>
          <Button onClick={renew} aria-label={`New link for ${email}`}>
            New link
          </Button>
          <Button isDanger onClick={withdraw} aria-label={`Withdraw invitation of ${email}`}>
            Withdraw
          </Button>
        </>
      )}
    </>
  )
}
