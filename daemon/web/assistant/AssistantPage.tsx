import { useProject } from '../app/projects.ts'
import { hrefOf } from '../app/router.ts'
import { Icon } from '../ui/Icon.tsx'
import { useTitle } from '../ui/Page.tsx'
import { AssistantPanel } from './AssistantPanel.tsx'

/** The project's assistant on a separate page. */
export function AssistantPage({ projectId }: { projectId: string }) {
  const name = useProject(projectId)?.name
  useTitle(name === undefined ? 'Assistant' : `Assistant of ${name}`)
  return (
    <main className="page card-page" id="main" tabIndex={-1}>
      <div className="opened-view as-page assistant">
        <header className="opened-head">
          <div className="opened-bar">
            <a className="button plain" href={hrefOf({ name: 'board', projectId })}>
              <Icon name="back" /> Board
            </a>
            <h1>Assistant{name !== undefined && ` of ${name}`}</h1>
          </div>
        </header>
        <AssistantPanel projectId={projectId} />
      </div>
    </main>
  )
}
