import { useEffect } from 'react'
import { projects, type Project } from '../app/projects.ts'
import { useStore } from '../app/store.ts'
import { Page } from '../ui/Page.tsx'
import { attention, followProjects } from './attention.ts'
import { FirstSteps } from './FirstSteps.tsx'
import { ProjectList } from './ProjectList.tsx'
import { RunningNow } from './RunningNow.tsx'
import { WaitingForMe } from './WaitingForMe.tsx'

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
  const known = useStore(attention)
  const isEmpty = [...known.values()].every(({ stats }) => stats.total === 0)
  const isRead = all.every(({ id }) => known.has(id))
  return (
    <>
      {isRead && isEmpty && <FirstSteps project={all[0]} />}
      <WaitingForMe all={all} isRead={isRead} />
      <RunningNow all={all} />
      <ProjectList all={all} />
    </>
  )
}
