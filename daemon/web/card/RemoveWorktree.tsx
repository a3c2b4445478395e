import { announce } from '../app/messages.ts'
import { useProject } from '../app/projects.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { useCard, useOpened } from './openedCard.ts'

/** Removes the worktree that the board created for a card whose work is saved elsewhere. Project admins see the button. */
export function RemoveWorktree() {
  const opened = useOpened()
  const { projectId, cardId } = opened
  const card = useCard()
  const isManager = useProject(projectId)?.role === 'admin'
  const isOwn = card.useWorktree && card.gitBranch !== null && card.worktreePath === null
  if (!isManager || !isOwn) return null
  return (
    <Button
      onClick={() =>
        confirm({
          title: 'Remove worktree?',
          text: 'This deletes the folder on the server, unless it has work that exists nowhere else. The next start of an agent creates a new worktree.',
          submit: 'Remove',
          isDanger: false,
          run: async () => {
            await client.cards.detachWorktree({ projectId, cardId, remove: true })
            await opened.read()
            announce('Removed the worktree.')
          },
        })
      }
    >
      Remove worktree…
    </Button>
  )
}
