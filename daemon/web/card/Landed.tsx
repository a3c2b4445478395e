import { landedWords } from '../../../src/boardModel/landed.ts'
import { announce } from '../app/messages.ts'
import { useProject } from '../app/projects.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { useCard, useOpened } from './openedCard.ts'

/** That the card's work is in its base already, and the way to be rid of its worktree. */
export function Landed() {
  const opened = useOpened()
  const { projectId, cardId } = opened
  const card = useCard()
  const isManager = useProject(projectId)?.role === 'admin'
  const words = landedWords(card)
  if (words === undefined) return null
  return (
    <div className="notice">
      <span>{words}</span>
      {isManager && card.useWorktree && card.gitBranch !== null && (
        <Button
          onClick={() =>
            confirm({
              title: 'Remove the worktree?',
              text: 'Its folder on the server goes, unless there is work in it that is nowhere else. An agent that starts on the card again gets a new one.',
              submit: 'Remove it',
              isDanger: false,
              run: async () => {
                await client.cards.detachWorktree({ projectId, cardId, remove: true })
                await opened.read()
                announce('The worktree is removed.')
              },
            })
          }
        >
          Remove the worktree…
        </Button>
      )}
    </div>
  )
}
