import { loadProjects } from '../app/projects.ts'
import { useLoad } from '../app/load.ts'
import { hrefOf } from '../app/router.ts'
import { client, session } from '../app/session.ts'
import { projectSettings } from '../app/settingNames.ts'
import { useStore } from '../app/store.ts'
import { Await, Page } from '../ui/Page.tsx'
import { Sections } from '../ui/Sections.tsx'
import { AgentsSection } from './Agents.tsx'
import { BudgetsSection } from './BudgetsSection.tsx'
import { CredentialsSection } from './Credentials.tsx'
import { ForgeSection } from './Forge.tsx'
import { GatesSection } from './Gates.tsx'
import { GeneralSection } from './General.tsx'
import { KeysSection } from './Keys.tsx'
import { MembersSection } from './Members.tsx'
import { MonitorsSection } from './Monitors.tsx'
import { SchedulesSection } from './Schedules.tsx'
import { ScriptsSection } from './Scripts.tsx'
import type { SectionProps } from './sectionProps.ts'
import { TemplatesSection } from './Templates.tsx'
import { TransfersSection } from './Transfers.tsx'
import { WebhooksSection } from './Webhooks.tsx'
import { WorktreesSection } from './Worktrees.tsx'

/** The sections, and the role that each one requires at least. */
const sections = [
  { id: 'general', label: 'General', role: 'viewer', Content: GeneralSection },
  { id: 'agents', label: 'Agents', role: 'admin', Content: AgentsSection },
  { id: 'budgets', label: 'Budgets and usage', role: 'viewer', Content: BudgetsSection },
  { id: 'worktrees', label: 'Worktrees', role: 'member', Content: WorktreesSection },
  { id: 'gates', label: 'Gates', role: 'viewer', Content: GatesSection },
  { id: 'forge', label: 'Forge', role: 'viewer', Content: ForgeSection },
  { id: 'members', label: 'Members', role: 'viewer', Content: MembersSection },
  { id: 'keys', label: 'API keys', role: 'viewer', Content: KeysSection },
  { id: 'webhooks', label: 'Webhooks', role: 'member', Content: WebhooksSection },
  { id: 'schedules', label: 'Schedules', role: 'viewer', Content: SchedulesSection },
  { id: 'scripts', label: 'Scripts', role: 'viewer', Content: ScriptsSection },
  { id: 'monitors', label: 'Monitors', role: 'viewer', Content: MonitorsSection },
  { id: 'credentials', label: 'Credentials', role: 'member', Content: CredentialsSection },
  { id: 'templates', label: 'Templates', role: 'member', Content: TemplatesSection },
  { id: 'transfers', label: 'Import and export', role: 'viewer', Content: TransfersSection },
] as const

const ranks = { viewer: 0, member: 1, admin: 2 }

/** The settings of a project, in sections with separate links. */
export function ProjectPage({ projectId, section = 'general' }: { projectId: string; section?: string }) {
  const now = useStore(session)
  const loaded = useLoad(() => client.projects.get({ id: projectId }), [projectId])
  const name = loaded.value?.name ?? 'Project'
  return (
    <Page
      title={`Settings of ${name}`}
      tools={
        <>
          <a href={hrefOf({ name: 'charts', projectId })}>Charts</a>
          <a href={hrefOf({ name: 'board', projectId })}>Board</a>
        </>
      }
    >
      <Await of={loaded}>
        {project =>
          now.name === 'in' && (
            <Settings
              key={project.id}
              project={project}
              me={now.me}
              section={section}
              onChange={changed => {
                loaded.set(changed)
                void loadProjects()
              }}
            />
          )
        }
      </Await>
    </Page>
  )
}

function Settings({
  section,
  ...props
}: Pick<SectionProps, 'project' | 'me' | 'onChange'> & {
  section: string
}) {
  const { role, id: projectId } = props.project
  const offered = sections.filter(each => ranks[each.role] <= ranks[role])
  const shown = offered.find(({ id }) => id === section)
  const links = offered.map(({ id, label }) => ({
    id,
    label,
    href: hrefOf({ name: 'project', projectId, section: id }),
    settings: role === 'admin' ? projectSettings[id] : undefined,
  }))
  return (
    <Sections label="Settings" sections={links} current={section}>
      {shown ? (
        <>
          <h2>{shown.label}</h2>
          <shown.Content key={shown.id} {...props} mayManage={role === 'admin'} mayWork={role !== 'viewer'} />
        </>
      ) : (
        <p>You don’t have access to this project. Ask a project admin to add you.</p>
      )}
    </Sections>
  )
}
