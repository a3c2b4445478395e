import { organizationLabel } from '../../../src/boardModel/organizationLabel.ts'
import { showError, showMessage } from '../app/messages.ts'
import { loadProjects, projects } from '../app/projects.ts'
import { navigate } from '../app/router.ts'
import { client } from '../app/session.ts'
import { useLoad } from '../app/load.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Choice, TextInput } from '../ui/Inputs.tsx'
import { SettingsForm } from '../ui/SettingsForm.tsx'
import { Time } from '../ui/Time.tsx'
import { AfterMerge } from './AfterMerge.tsx'
import { Repositories } from './Repositories.tsx'
import type { SectionProps } from './sectionProps.ts'

/** A project's name, folder, organization, position in the list, and deletion. */
export function GeneralSection(props: SectionProps) {
  return (
    <>
      {props.mayManage ? <Identity {...props} /> : <Facts {...props} />}
      <Repositories {...props} />
      <Order {...props} />
      {props.mayManage && <AfterMerge {...props} />}
      {props.mayManage && <FolderConfirmation {...props} />}
      {props.mayManage && <Deletion {...props} />}
    </>
  )
}

function Facts({ project }: SectionProps) {
  return (
    <dl className="facts panel">
      <dt>Name</dt>
      <dd>{project.name}</dd>
      <dt>Folder</dt>
      <dd>
        <code>{project.path}</code>
      </dd>
      <dt>Your role</dt>
      <dd>{project.role}</dd>
      <dt>Created</dt>
      <dd>
        <Time at={project.createdAt} />
      </dd>
    </dl>
  )
}

function Identity({ project, onChange }: SectionProps) {
  const { value: own = [] } = useLoad(() => client.organizations.list(), [])
  const offered = own.map(each => [each.id, organizationLabel(each, own)] as const)
  return (
    <SettingsForm
      submit="Save"
      saved="Saved the project."
      initial={{ name: project.name, path: project.path, organizationId: project.organizationId ?? '' }}
      save={async ({ name, path, organizationId }) => {
        // A path that is sent confirms the folder and its repository.
        const changedPath = path === project.path ? undefined : path
        const change = { name, path: changedPath, organizationId: organizationId || null }
        onChange(await client.projects.update({ id: project.id, ...change }))
      }}
    >
      {({ bind }) => (
        <>
          <TextInput label="Name" required maxLength={200} {...bind('name')} />
          <TextInput
            label="Folder"
            required
            spellCheck={false}
            hint="An absolute path on the server. Agents work there, or in worktrees of its repository."
            {...bind('path')}
          />
          {(offered.length > 0 || project.organizationId !== null) && (
            <Choice
              label="Organization"
              hint="Members of the organization see the project, and its admins manage it."
              options={[['', 'none'], ...offered]}
              {...bind('organizationId')}
            />
          )}
        </>
      )}
    </SettingsForm>
  )
}

/** The position of the project in the person's own list. Other people's lists are unaffected. */
function Order({ project }: SectionProps) {
  const all = useStore(projects) ?? []
  const at = all.findIndex(({ id }) => id === project.id)
  if (all.length < 2 || at < 0) return null
  const move = async (to: number) => {
    const ids = all.map(({ id }) => id).filter(id => id !== project.id)
    projects.set(await client.projects.reorder({ ids: ids.toSpliced(to, 0, project.id) }))
  }
  return (
    <div className="panel">
      <h3>Position in your list</h3>
      <p>
        {at + 1} of {all.length}. The order applies only to you.
      </p>
      <div className="tools">
        <Button icon="up" disabled={at === 0} onClick={() => move(at - 1)}>
          Up
        </Button>
        <Button icon="down" disabled={at === all.length - 1} onClick={() => move(at + 1)}>
          Down
        </Button>
      </div>
    </div>
  )
}

/** Cards stop if the project's folder or its repository was replaced, until a person confirms it. */
function FolderConfirmation({ project, onChange }: SectionProps) {
  const ask = () =>
    confirm({
      title: 'Confirm folder',
      text: `The board records ${project.path} and its Git repository again, and agents work there.`,
      submit: 'Confirm folder',
      run: async () => {
        onChange(await client.projects.update({ id: project.id, path: project.path }))
        showMessage('Confirmed the folder.')
      },
    })
  return (
    <div className="panel">
      <h3>Folder and repository</h3>
      <p>If the folder or its Git repository was replaced, cards stop until you confirm the change.</p>
      <div className="tools">
        <Button onClick={ask}>Confirm folder</Button>
      </div>
    </div>
  )
}

function Deletion({ project }: SectionProps) {
  const ask = async () => {
    const { total } = await client.projects.stats({ id: project.id })
    const lost = total === 1 ? 'its 1 card' : `its ${total} cards`
    confirm({
      title: `Delete ${project.name}`,
      text: `This permanently deletes the project for all members: its boards, ${lost}, their transcripts, attachments, reviews, webhooks and scripts. Running agents are stopped, and worktrees that the board created are removed. The folder ${project.path} remains.`,
      typed: project.name,
      submit: 'Delete',
      run: async () => {
        await client.projects.delete({ id: project.id })
        navigate({ name: 'home' }, { replace: true })
        showMessage(`Deleted ${project.name}.`)
        loadProjects().catch(showError)
      },
    })
  }
  return (
    <div className="panel">
      <h3>Delete project</h3>
      <p>This permanently deletes the project from the board. Its folder on disk remains.</p>
      <div className="tools">
        <Button isDanger icon="trash" onClick={ask}>
          Delete project
        </Button>
      </div>
    </div>
  )
}
