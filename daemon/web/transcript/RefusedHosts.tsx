import { useLayoutEffect, useRef } from 'react'
import type { Session } from '../../../src/boardModel/openedCard.ts'
import { allowsHost, authorityOf, parseNetworkHost } from '../../../src/contract/networkHosts.ts'
import { showMessage } from '../app/messages.ts'
import { loadProjects, useProject } from '../app/projects.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'

/** The hosts that the sandbox blocked. Project admins can allow them here. */
export function RefusedHosts({ projectId, session }: { projectId: string; session: Session }) {
  const project = useProject(projectId)
  const allowed = (project?.sandbox.hosts ?? []).flatMap(entry => parseNetworkHost(entry) ?? [])
  const refused = (session.sandbox?.asked ?? [])
    .filter(({ allowed: wasAllowed, host, port }) => !wasAllowed && !allowed.some(each => allowsHost(each, host, port)))
    .map(({ host, port }) => (port === 80 || port === 443 ? host : authorityOf(host, port)))
    .filter((entry, at, all) => all.indexOf(entry) === at)
  const list = useRef<HTMLUListElement>(null)
  const hasAllowed = useRef(false)
  // The pressed button disappears with its host: the focus moves to the next one, or to the message box.
  useLayoutEffect(() => {
    if (hasAllowed.current && document.activeElement === document.body)
      (list.current?.querySelector('button') ?? document.querySelector<HTMLElement>('.message-box textarea'))?.focus()
    hasAllowed.current = false
  }, [refused.length])
  if (refused.length === 0) return null
  const allow = async (entry: string) => {
    hasAllowed.current = true
    await client.projects.update({ id: projectId, sandbox: { addHosts: [entry] } })
    await loadProjects()
    showMessage(`Allowed ${entry} in this project for future starts of agents.`)
  }
  return (
    <div className="notice refused" role="status">
      The sandbox has blocked:
      <ul ref={list} className="refused-hosts">
        {refused.map(entry => (
          <li key={entry}>
            <code>{entry}</code>
            {project?.role === 'admin' && (
              <Button aria-label={`Allow in this project: ${entry}`} onClick={() => allow(entry)}>
                {' '}
                Allow in this project{' '}
              </Button>
            )}
          </li>
        ))}
      </ul>
    </div>
  )
}
