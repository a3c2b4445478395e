import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { showError, showMessage } from '../app/messages.ts'
import { loadProjects } from '../app/projects.ts'
import { hrefOf, navigate } from '../app/router.ts'
import { client } from '../app/session.ts'
import { Choice } from '../ui/Inputs.tsx'
import { ResourceSection, type ResourceRow } from '../ui/ResourceSection.tsx'
import { Select } from '../ui/Select.tsx'
import { showSecret } from '../ui/showSecret.tsx'
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

const showLink = ({ email, token }: { email: string; token: string }) =>
  showSecret({
    title: `Invitation of ${email}`,
    label: 'Invitation link',
    hint: `Send the link to ${email}. The link is shown only once, and anyone who has it can accept the invitation.`,
    value: new URL(hrefOf({ name: 'invitation', token }), location.href).href,
  })

/** The members and invitations of the project. */
export function MembersSection(props: SectionProps) {
  const { project, mayManage } = props
  const list = useLoad(
    async () => (await client.members.list({ id: project.id })).map(entry => ({ id: entry.email, ...entry })),
    [project.id],
  )
  const add = async (values: { email: string; role: Role }) => {
    const added = await client.members.add({ id: project.id, ...values })
    if (added.pending) showLink(added)
    else showMessage(`${added.email} is now a member.`)
  }
  return (
    <ResourceSection
      of={list}
      label="Members"
      about="Members see the project and its boards. A role allows more: work with cards and agents, or manage the project."
      empty="No other members yet."
      mayEdit={mayManage}
      row={entry => ({
        ...(entry.pending ? invitationRow(props, entry) : memberRow(props, entry, list.reload)),
        isEditable: false,
      })}
      form={{
        noun: 'member',
        initial: () => ({ email: '', role: 'member' as Role }),
        save: add,
        fields: ({ bind }) => (
          <>
            <UserEmail
              label="Email"
              hint="A person with an account is added immediately. For other people, you get an invitation link to send."
              {...bind('email')}
            />
            <Choice label="Role" options={roles} {...bind('role')} />
          </>
        ),
      }}
    />
  )
}

function memberRow(
  { project, me, mayManage }: SectionProps,
  { userId, email, displayName, role, acceptedAt }: Member,
  reload: () => Promise<void>,
): ResourceRow {
  const name = displayName || email
  const isMe = userId === me.id
  const place = { projectId: project.id, userId }
  const change = (to: Role) => client.members.update({ ...place, role: to }).then(reload)
  const remove = async () => {
    await client.members.remove(place)
    if (!isMe) return
    navigate({ name: 'home' })
    loadProjects().catch(showError)
  }
  return {
    name,
    badges: [isMe && 'you', acceptedAt === null && 'has not opened the project yet'],
    about: email,
    control: mayManage ? (
      <Select
        label={`Role of ${name}`}
        value={role}
        options={roles.map(([each]) => [each, each])}
        onChange={to => void change(to).catch(showError)}
      />
    ) : (
      <span>{role}</span>
    ),
    remove: (mayManage || isMe) && {
      verb: isMe ? 'Leave' : 'Remove',
      title: isMe ? `Leave ${project.name}` : `Remove ${name}`,
      text: isMe
        ? 'You lose access to the project. A project admin can add you again.'
        : `${name} loses access to the project, and their keys and webhooks stop working in it.`,
      run: remove,
    },
  }
}

function invitationRow({ project, mayManage }: SectionProps, invitation: Invitation): ResourceRow {
  const { email, role, invitedBy, createdAt, expiresAt } = invitation
  const place = { projectId: project.id, email }
  const isExpired = Date.parse(expiresAt) < Date.now()
  return {
    name: email,
    badges: [isExpired ? 'invitation expired' : 'invited'],
    about: (
      <>
        invited as {role} by {invitedBy} <Time at={createdAt} />
        {!isExpired && ` · until ${formatTime(expiresAt, 'day')}`}
      </>
    ),
    remove: mayManage && {
      verb: 'Withdraw',
      title: `Withdraw invitation of ${email}`,
      text: 'The invitation link stops working.',
      run: () => client.members.removeInvitation(place),
    },
    actions: mayManage
      ? [{ label: 'New link', run: async () => showLink(await client.members.renewInvitation(place)) }]
      : [],
  }
}
