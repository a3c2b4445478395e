import { landedWords } from '../../../src/boardModel/landedWords.ts'
import { useCard } from './openedCard.ts'
import { RemoveWorktree } from './RemoveWorktree.tsx'

/** States that the card's work is already in its base, and offers to remove its worktree. */
export function Landed() {
  const words = landedWords(useCard())
  if (words === undefined) return null
  return (
    <div className="notice">
      <span>{words}</span>
      <RemoveWorktree />
    </div>
  )
}
