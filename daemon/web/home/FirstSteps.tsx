import { useState } from 'react'
import type { Project } from '../app/projects.ts'
import { hrefOf } from '../app/router.ts'
import { NewProjectDialog } from '../project/NewProject.tsx'
import { Button } from '../ui/Button.tsx'

/** The first steps, shown while there are no cards or projects. */
export function FirstSteps({ project }: { project?: Project }) {
  const [isMaking, setMaking] = useState(false)
  return (
    <section className="panel first-steps" aria-labelledby="first-steps">
      <h2 id="first-steps">First steps</h2>
      <ol className="bullets">
        <li className={project && 'done'}>
          <strong>Create a project.</strong> A project is a folder, ideally a Git repository. Each agent then works on a
          separate branch, and your files are unchanged until you merge.
        </li>
        <li>
          <strong>Create a card.</strong> The title states the task, and the prompt adds details for the agent. A card
          costs nothing until it moves to an active column.{' '}
          {project && <a href={hrefOf({ name: 'board', projectId: project.id })}>Open the board of {project.name}</a>}
        </li>
        <li>
          <strong>Start an agent.</strong> Move the card to In Progress, and answer the agent’s questions here. For the
          installed agents, see the <a href={hrefOf({ name: 'me', section: 'agents' })}>list of agents</a>.
        </li>
        <li>
          <strong>Review the changes.</strong> Read the diff of the card, comment on its lines, and merge it.
        </li>
      </ol>
      {!project && (
        <div className="tools">
          <Button isMain icon="add" onClick={() => setMaking(true)}>
            New project
          </Button>
        </div>
      )}
      {isMaking && <NewProjectDialog onClose={() => setMaking(false)} />}
    </section>
  )
}
