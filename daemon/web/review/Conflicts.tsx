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
      <p>The merge has conflicts, and nothing was changed. Conflicting files:</p>
      <ul className="bullets">
        {paths.map(path => (
          <li key={path}>
            <code dir="ltr">
              <Visible text={path} />
            </code>
          </li>
        ))}
      </ul>
      <p>Resolve the conflicts in the card’s worktree, or let the agent resolve them.</p>
      {onResolve && <Button onClick={onResolve}>Resolve with the agent</Button>}
    </div>
  </div>
)
