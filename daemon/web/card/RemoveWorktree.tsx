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
          title: 'Remove the worktree?',
          text: 'Its folder on the server is deleted, unless there is work in it that exists nowhere else. An agent that starts on the card again gets a new one.',
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
  )
}
