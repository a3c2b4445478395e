import { landedWords } from '../../../src/boardModel/landedWords.ts'
import { useCard } from './openedCard.ts'
import { RemoveWorktree } from './RemoveWorktree.tsx'

/** That the card's work is in its base already, and the way to be rid of its worktree. */
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
