import { permissions, projectPermissions } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { projects } from '../app/projects.ts'
import { client, session } from '../app/session.ts'
import { useStore } from '../app/store.ts'
import { KeyList } from '../project/KeyList.tsx'

/** All API keys of the person. */
export function Keys() {
  const list = useLoad(() => client.keys.list(), [])
  const organizations = useLoad(() => client.organizations.list(), [])
  const all = useStore(projects) ?? []
  const isSuper = useStore(session, now => now.name === 'in' && now.me.role === 'super_admin')
  return (
    <>
      <p>A key lets a program work in your name. It may do what you tick, and never more than you.</p>
      <KeyList
        list={list}
        places={[
          ['server', 'All that I may see'],
          ...(organizations.value ?? []).map(({ id, name }) => [`organization ${id}`, `Organization ${name}`] as const),
          ...all.map(({ id, name }) => [`project ${id}`, `Project ${name}`] as const),
        ]}
        // Permissions about the server go with its scope, and are a super administrator's to give.
        offered={place => (isSuper && place === 'server' ? permissions : projectPermissions)}
        placeOf={({ organizationId, projectId, scope }) =>
          scope === 'server'
            ? 'all that you may see'
            : scope === 'organization'
              ? `the organization ${organizations.value?.find(({ id }) => id === organizationId)?.name ?? organizationId}`
              : `the project ${all.find(({ id }) => id === projectId)?.name ?? projectId}`
        }
        empty="You have no keys."
      />
    </>
  )
}
