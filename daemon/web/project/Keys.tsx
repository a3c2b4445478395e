import { projectPermissions, type Permission } from '../../../src/contract/route.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { KeyList } from './KeyList.tsx'
import type { SectionProps } from './sectionProps.ts'

/** The person's own API keys for the project. A key never has more permissions than its owner. */
export function KeysSection({ project, mayWork }: SectionProps) {
  const list = useLoad(
    async () => (await client.keys.list()).filter(key => key.scope === 'project' && key.projectId === project.id),
    [project.id],
  )
  return (
    <KeyList
      list={list}
      about="A key lets a program work in this project on your behalf, with the permissions that you select, and never more than your account."
      places={[[`project ${project.id}`, project.name]]}
      offered={() => (mayWork ? projectPermissions : lookingOn)}
      empty="No keys for this project."
    />
  )
}

/** The server would reject every request of a key with more permissions than the role of its owner. */
const lookingOn: readonly Permission[] = projectPermissions.filter(
  each => each.endsWith('.read') && each !== 'webhooks.read',
)
