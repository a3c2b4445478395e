import type { Project } from '../app/projects.ts'
import { hrefOf } from '../app/router.ts'
import { client } from '../app/session.ts'
import { useStore } from '../app/store.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Status } from '../ui/Status.tsx'
import { Time } from '../ui/Time.tsx'
import { projectStates, type Running } from './projectStates.ts'
import { sessionActivities, sessions } from './sessionActivities.ts'

/** The working agents, each with its current activity. */
export function RunningNow({ all }: { all: readonly Project[] }) {
  const known = useStore(projectStates)
  const running = all.flatMap(project => (known.get(project.id)?.running ?? []).map(item => ({ project, item })))
  return (
    <section className="running" aria-labelledby="running">
      <h2 id="running">Running{running.length > 0 && ` (${running.length})`}</h2>
      {running.length === 0 && <p className="dim">No agents are running. Start a card to see its agent here.</p>}
      <ul className="items" aria-label="Agents at work">
        {running.map(({ project, item }) => (
          <RunningItem key={item.cardId} project={project} {...item} />
        ))}
      </ul>
    </section>
  )
}

function RunningItem({ project, cardId, cardTitle, status, agent, startedAt }: Running & { project: Project }) {
  const sessionId = useStore(sessions).get(cardId) ?? ''
  const activity = useStore(sessionActivities).get(sessionId)
  const cancel = () =>
    confirm({
      title: `Cancel agent of ${cardTitle}?`,
      text: 'The agent stops immediately. Changed files remain.',
      submit: 'Cancel agent',
      run: () => client.agents.cancel({ projectId: project.id, cardId }),
    })
  return (
    <li className="item">
      <div className="item-head">
        <a href={hrefOf({ name: 'card', projectId: project.id, cardId })}>{cardTitle}</a>
        <Status status={status} />
        <span className="dim">
          {project.name}
          {agent !== null && ` · ${agent}`}
          {startedAt !== null && (
            <>
              {' · '}
              <Time at={startedAt} />
            </>
          )}
        </span>
        {project.role !== 'viewer' && (
          <Button isPlain icon="stop" label={`Cancel agent of ${cardTitle}`} onClick={cancel} />
        )}
      </div>
      {activity !== undefined && <p className="agent-activity">{activity}</p>}
    </li>
  )
}
