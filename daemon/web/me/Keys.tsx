import { organizationLabel } from '../../../src/boardModel/organizationLabel.ts'
import { permissions, projectPermissions } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { projects } from '../app/projects.ts'
import { client, session } from '../app/session.ts'
import { useStore } from '../app/store.ts'
import { KeyList } from '../project/KeyList.tsx'

/** All API keys of the person. */
export function Keys() {
  const list = useLoad(() => client.keys.list(), [])
  const { value: own = [] } = useLoad(() => client.organizations.list(), [])
  const all = useStore(projects) ?? []
  const isSuper = useStore(session, now => now.name === 'in' && now.me.role === 'super_admin')
  return (
    <KeyList
      list={list}
      about="A key lets a program work on your behalf, with the permissions that you select, and never more than your account."
      places={[
        ['server', 'All projects that I can see'],
        ...own.map(each => [`organization ${each.id}`, `Organization ${organizationLabel(each, own)}`] as const),
        ...all.map(({ id, name }) => [`project ${id}`, `Project ${name}`] as const),
      ]}
      // Server permissions require the scope server, and only a super_admin can grant them.
      offered={place => (isSuper && place === 'server' ? permissions : projectPermissions)}
      placeOf={({ organizationId, projectId, scope }) => {
        if (scope === 'server') return 'all projects that you can see'
        if (scope === 'project') return `the project ${all.find(({ id }) => id === projectId)?.name ?? projectId}`
        const organization = own.find(({ id }) => id === organizationId)
        return `the organization ${organization ? organizationLabel(organization, own) : organizationId}`
      }}
      empty="No keys."
    />
  )
}
