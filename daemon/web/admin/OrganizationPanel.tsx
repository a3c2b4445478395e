import { useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { showError, showMessage } from '../app/messages.ts'
import { projects } from '../app/projects.ts'
import { hrefOf } from '../app/router.ts'
import { client, session } from '../app/session.ts'
import { useStore } from '../app/store.ts'
import { Budgets } from '../budgets/Budgets.tsx'
import { UsageTable } from '../budgets/UsageTable.tsx'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Form } from '../ui/Form.tsx'
import { Choice, TextInput } from '../ui/Inputs.tsx'
import { ResourceSection, type ResourceRow } from '../ui/ResourceSection.tsx'
import { Select } from '../ui/Select.tsx'
import { saveFile } from '../ui/saveFile.ts'
import { UserEmail } from '../ui/UserEmail.tsx'

type Organization = Output<Contract['organizations']['list']>[number]
type Member = Output<Contract['organizations']['listMembers']>[number]
type Role = Member['role']

const roles = [
  ['member', 'Member'],
  ['admin', 'Admin'],
] as const

interface OrganizationProps {
  organization: Organization
  /** Its name, with its ID if another organization has the same name. */
  label: string
  /** Reads all organizations again. */
  reload: () => Promise<void>
}

/** An organization with its members, projects and actions. */
export function OrganizationPanel({ organization, label, reload }: OrganizationProps) {
  const { id, role } = organization
  const me = useStore(session, now => (now.name === 'in' ? now.me : undefined))
  const mayManage = role === 'admin' || me?.role !== 'user'
  const own = (useStore(projects) ?? []).filter(({ organizationId }) => organizationId === id)
  return (
    <section className="panel" aria-label={label}>
      <div className="page-head">
        <h3>{label}</h3>
        {mayManage && <Tools organization={organization} label={label} reload={reload} mayDelete={own.length === 0} />}
      </div>
      <p className="dim">
        {own.length === 0 ? 'No projects.' : 'Projects: '}
        {own.map(({ id: projectId, name: project }, at) => (
          <span key={projectId}>
            {at > 0 && ', '}
            <a href={hrefOf({ name: 'board', projectId })}>{project}</a>
          </span>
        ))}
      </p>
      {mayManage && <DefaultCredential organization={organization} reload={reload} />}
      <OrganizationBudgets id={id} mayManage={mayManage} />
      <Members id={id} name={label} mayManage={mayManage} myId={me?.id} onLeft={reload} />
    </section>
  )
}

/** The budgets of the agents in an organization's projects, and the amounts used. */
function OrganizationBudgets({ id, mayManage }: { id: string; mayManage: boolean }) {
  const list = useLoad(() => client.budgets.list({ organizationId: Number(id) }), [id])
  return (
    <details>
      <summary>Budgets and usage</summary>
      <Budgets of={list} scope={{ scope: 'organization', scopeId: id }} mayManage={mayManage} />
      <UsageTable organizationId={Number(id)} />
    </details>
  )
}

function Tools({ organization, label, reload, mayDelete }: OrganizationProps & { mayDelete: boolean }) {
  const { id } = organization
  const download = async () => saveFile(await client.transfers.exportOrganization({ organizationId: Number(id) }))
  const remove = () =>
    confirm({
      title: `Delete ${label}`,
      text: 'Members keep their accounts and other projects. The organization must not have projects.',
      submit: 'Delete',
      run: async () => {
        await client.organizations.delete({ id })
        await reload()
      },
    })
  return (
    <div className="tools">
      <Rename organization={organization} label={label} reload={reload} />
      <Button icon="down" aria-label={`Export ${label} with its projects`} onClick={download}>
        Export
      </Button>
      {mayDelete && (
        <Button isDanger aria-label={`Delete ${label}`} onClick={remove}>
          Delete
        </Button>
      )}
    </div>
  )
}

/** Selects the default credential for the agents of an organization's projects. */
function DefaultCredential({ organization: { id, defaultCredentialId }, reload }: Omit<OrganizationProps, 'label'>) {
  const own = useLoad(() => client.credentials.list(), [])
  const choose = async (value: string) => {
    const { defaultCredentialId: chosen } = await client.organizations.setCredential({
      orgId: id,
      credentialId: value || null,
    })
    showMessage(
      chosen === null
        ? 'The organization no longer has a credential.'
        : 'The organization’s projects now use the selected credential.',
    )
    await reload()
  }
  const credentials = own.value ?? []
  const belongsToOtherUser = defaultCredentialId !== null && credentials.every(each => each.id !== defaultCredentialId)
  if (credentials.length === 0 && !belongsToOtherUser) return null
  return (
    <Choice
      label="Credential of the projects"
      hint="Used if neither the card nor the project has a credential."
      value={defaultCredentialId ?? ''}
      options={[
        ['', 'none'],
        ...(belongsToOtherUser ? [[defaultCredentialId, 'another person’s credential'] as const] : []),
        ...credentials.map(each => [each.id, each.name] as const),
      ]}
      onChange={value => void choose(value).catch(showError)}
    />
  )
}

interface MembersProps {
  id: string
  name: string
  mayManage: boolean
  myId: string | null | undefined
  onLeft: () => Promise<void>
}

function Members({ id, name, mayManage, myId, onLeft }: MembersProps) {
  const members = useLoad(
    async () => (await client.organizations.listMembers({ id })).map(each => ({ ...each, id: each.userId })),
    [id],
  )
  return (
    <ResourceSection
      of={members}
      label={`Members of ${name}`}
      mayEdit={mayManage}
      row={member => rowOf(member, id, mayManage, member.userId === myId, members.reload, onLeft)}
      form={{
        noun: 'member',
        initial: () => ({ email: '', role: 'member' as Role }),
        save: values => client.organizations.addMember({ id, ...values }),
        fields: ({ bind }) => (
          <>
            <UserEmail label="Email of a user" {...bind('email')} />
            <Choice label="Role" options={roles} {...bind('role')} />
          </>
        ),
      }}
    />
  )
}

function rowOf(
  { userId, email, displayName, role }: Member,
  id: string,
  mayManage: boolean,
  isMe: boolean,
  reload: () => Promise<void>,
  onLeft: () => Promise<void>,
): ResourceRow {
  const change = async (to: Role) => {
    await client.organizations.updateMember({ id, userId, role: to })
    await (isMe ? onLeft() : reload())
  }
  const remove = async () => {
    await client.organizations.removeMember({ id, userId })
    if (isMe) await onLeft()
  }
  return {
    name: email,
    title: displayName,
    about: email,
    isEditable: false,
    control: mayManage ? (
      <Select
        label={`Role of ${email}`}
        value={role}
        options={roles}
        onChange={to => void change(to).catch(showError)}
      />
    ) : (
      <span>{role}</span>
    ),
    remove: (mayManage || isMe) && {
      verb: isMe ? 'Leave' : 'Remove',
      title: isMe ? 'Leave organization' : `Remove ${email}`,
      text: `${isMe ? 'You lose' : `${email} loses`} access to the projects of the organization.`,
      run: remove,
    },
  }
}

function Rename({ organization: { id, name }, label, reload }: OrganizationProps) {
  const [text, setText] = useState<string>()
  const save = async () => {
    await client.organizations.update({ id, name: text! })
    setText(undefined)
    await reload()
  }
  if (text === undefined)
    return (
      <Button aria-label={`Rename ${label}`} onClick={() => setText(name)}>
        Rename
      </Button>
    )
  return (
    <Form submit="Save name" onSubmit={save} onCancel={() => setText(undefined)}>
      <TextInput label="Name" required autoFocus value={text} onChange={setText} field="name" />
    </Form>
  )
}
