import { useEffect } from 'react'
import { projects, type Project } from '../app/projects.ts'
import { useStore } from '../app/store.ts'
import { Page } from '../ui/Page.tsx'
import { followProjects, projectStates } from './projectStates.ts'
import { FirstSteps } from './FirstSteps.tsx'
import { Inbox } from './Inbox.tsx'
import { ProjectList } from './ProjectList.tsx'
import { RunningNow } from './RunningNow.tsx'

/** The inbox over all projects, the running agents, and the projects. */
export function HomePage() {
  const all = useStore(projects)
  const ids = all?.map(({ id }) => id).join(' ')
  useEffect(() => (ids ? followProjects(ids.split(' ')) : undefined), [ids])
  return (
    <Page title="Home">
      {all === undefined ? (
        <p className="loading">Loading…</p>
      ) : all.length === 0 ? (
        <FirstSteps />
      ) : (
        <Overview all={all} />
      )}
    </Page>
  )
}

function Overview({ all }: { all: readonly Project[] }) {
  const known = useStore(projectStates)
  const isEmpty = all.every(({ id }) => known.get(id)?.stats.total === 0)
  return (
    <>
      {isEmpty && <FirstSteps project={all[0]} />}
      <Inbox all={all} />
      <RunningNow all={all} />
      <ProjectList all={all} />
    </>
  )
}
