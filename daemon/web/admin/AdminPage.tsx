import type { ComponentType } from 'react'
import { hrefOf } from '../app/router.ts'
import { session } from '../app/session.ts'
import { adminSettings } from '../app/settingNames.ts'
import { useStore } from '../app/store.ts'
import { Page } from '../ui/Page.tsx'
import { Sections } from '../ui/Sections.tsx'
import { AgentSettings } from './AgentSettings.tsx'
import { Audit } from './Audit.tsx'
import { Authentication } from './Authentication.tsx'
import { Backups } from './Backups.tsx'
import { ContextRelay } from './ContextRelay.tsx'
import { Daemons } from './Daemons.tsx'
import { LogExport } from './LogExport.tsx'
import { Logs } from './Logs.tsx'
import { Organizations } from './Organizations.tsx'
import { Profiles } from './Profiles.tsx'
import { SingleSignOn } from './SingleSignOn.tsx'
import { Users } from './Users.tsx'

interface AdminSection {
  id: string
  label: string
  view: ComponentType
  /** Whether only super admins see the section. */
  isSuper?: true
}

const sections: readonly AdminSection[] = [
  { id: 'users', label: 'Users', view: Users },
  { id: 'organizations', label: 'Organizations', view: Organizations },
  { id: 'authentication', label: 'Authentication', view: Authentication, isSuper: true },
  { id: 'single-sign-on', label: 'Single sign-on', view: SingleSignOn, isSuper: true },
  { id: 'agents', label: 'Agents', view: AgentSettings },
  { id: 'profiles', label: 'Agent profiles', view: Profiles },
  { id: 'relay', label: 'Context relay', view: ContextRelay },
  { id: 'logs', label: 'Log', view: Logs },
  { id: 'log-export', label: 'Log export', view: LogExport, isSuper: true },
  { id: 'audit', label: 'Audit log', view: Audit, isSuper: true },
  { id: 'backups', label: 'Backups', view: Backups, isSuper: true },
  { id: 'daemons', label: 'Daemons', view: Daemons },
]

/** The server settings that the person's role can access. */
export function AdminPage({ section = 'users' }: { section?: string }) {
  const role = useStore(session, now => (now.name === 'in' ? now.me.role : 'user'))
  const shown = sections.filter(({ isSuper }) => role === 'super_admin' || !isSuper)
  if (role === 'user')
    return (
      <Page title="Administration">
        <p>You need to be a server admin to view this page.</p>
      </Page>
    )
  const { id, label, view: View } = shown.find(each => each.id === section) ?? shown[0]!
  return (
    <Page title="Administration">
      <Sections
        label="Administration"
        current={id}
        sections={shown.map(({ id, label }) => ({
          id,
          label,
          href: hrefOf({ name: 'admin', section: id }),
          settings: adminSettings[id],
        }))}
      >
        <h2>{label}</h2>
        <View />
      </Sections>
    </Page>
  )
}
