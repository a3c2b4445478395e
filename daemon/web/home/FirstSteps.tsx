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
      <ol>
        <li className={project && 'done'}>
          <strong>Make a project of a folder.</strong> A project is a folder of yours, best with a Git repository in it.
          Each agent then works on a branch of its own, and your files stay as they are until you merge.
        </li>
        <li>
          <strong>Write a card.</strong> Its title says what is to be done, its prompt tells the agent more. It costs
          nothing until it moves into an active column.{' '}
          {project && <a href={hrefOf({ name: 'board', projectId: project.id })}>Open the board of {project.name}</a>}
        </li>
        <li>
          <strong>Let an agent work on it.</strong> Move the card to In Progress. What the agent asks, you answer here.
          Which agents are installed and signed in, the{' '}
          <a href={hrefOf({ name: 'me', section: 'agents' })}>list of agents</a> tells.
        </li>
        <li>
          <strong>Review what it did.</strong> Read the diff of the card, comment on its lines, and merge it.
        </li>
      </ol>
      {!project && (
        <div className="tools">
          <Button isMain icon="add" onClick={() => setMaking(true)}>
            Make a project of a folder
          </Button>
        </div>
      )}
      {isMaking && <NewProjectDialog onClose={() => setMaking(false)} />}
    </section>
  )
}
