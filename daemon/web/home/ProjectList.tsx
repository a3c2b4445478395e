import type { Project } from '../app/projects.ts'
import { hrefOf } from '../app/router.ts'
import { useStore } from '../app/store.ts'
import { projectStates } from './projectStates.ts'

/** The statuses of cards in display order. Other statuses are shown above. */
const counted = ['idle', 'queued', 'running', 'waiting', 'failed', 'completed'] as const

/** The projects with their number of cards per status. */
export function ProjectList({ all }: { all: readonly Project[] }) {
  const known = useStore(projectStates)
  return (
    <section aria-labelledby="home-projects">
      <h2 id="home-projects">Projects</h2>
      <ul className="project-list">
        {all.map(({ id, name, path }) => {
          const stats = known.get(id)?.stats
          const parts = counted.filter(status => (stats?.byStatus[status] ?? 0) > 0)
          return (
            <li key={id} className="panel">
              <a href={hrefOf({ name: 'board', projectId: id })}>{name}</a>
              <code className="dim path">{path}</code>
              <p className="dim">
                {stats && `${stats.total} ${stats.total === 1 ? 'card' : 'cards'}`}
                {parts.map(status => ` · ${stats!.byStatus[status]} ${status}`)}
              </p>
            </li>
          )
        })}
      </ul>
    </section>
  )
}
