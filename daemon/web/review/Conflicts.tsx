import { Button } from '../ui/Button.tsx'
import { Visible } from './lineParts.tsx'

interface ConflictsProps {
  paths: readonly string[]
  /** Asks the card's agent to resolve the conflicts. Undefined if the agent cannot. */
  onResolve?: () => Promise<void>
}

/** The files that the card's branch and another one have both changed. */
export const Conflicts = ({ paths, onResolve }: ConflictsProps) => (
  <div className="notice failure" role="alert">
    <div>
      <p>There are conflicts, and nothing was changed. Both sides have changed:</p>
      <ul>
        {paths.map(path => (
          <li key={path}>
            <code dir="ltr">
              <Visible text={path} />
            </code>
          </li>
        ))}
      </ul>
      <p>Solve them in the card’s worktree, or leave that to its agent.</p>
      {onResolve && <Button onClick={onResolve}>Have the agent resolve them</Button>}
    </div>
  </div>
)
