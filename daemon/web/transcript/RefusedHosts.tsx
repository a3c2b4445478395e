import type { Session } from '../../../src/boardModel/openedCard.ts'
import { authority } from '../../../src/contract/networkHosts.ts'
import { say } from '../app/messages.ts'
import { useProject } from '../app/projects.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'

/** The hosts that the sandbox has refused the agent; a project's admin allows them here. */
export function RefusedHosts({ projectId, session }: { projectId: string; session: Session }) {
  const project = useProject(projectId)
  const allowed = project?.sandbox.hosts ?? []
  const refused = (session.sandbox?.asked ?? [])
    .filter(({ allowed: isAllowed }) => !isAllowed)
    .map(({ host, port }) => (port === 80 || port === 443 ? host : authority(host, port)))
    .filter((entry, at, all) => all.indexOf(entry) === at && !allowed.includes(entry))
  if (refused.length === 0) return null
  const allow = async (entry: string) => {
    await client.projects.update({ id: projectId, sandbox: { addHosts: [entry] } })
    say(`Allowed ${entry} for this project. It holds from the next start of an agent on.`)
  }
  return (
    <div className="notice" role="status">
      The network of the sandbox has refused:
      <ul className="refused-hosts">
        {refused.map(entry => (
          <li key={entry}>
            <code>{entry}</code>
            {project?.role === 'admin' && <Button onClick={() => allow(entry)}>Allow for this project</Button>}
          </li>
        ))}
      </ul>
    </div>
  )
}
