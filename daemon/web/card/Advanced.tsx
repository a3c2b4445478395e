import { useState } from 'react'
import { showError } from '../app/messages.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Check, Choice } from '../ui/Inputs.tsx'
import { CardBudgets } from './CardBudgets.tsx'
import { useCanWork } from './canWork.ts'
import { Heading } from './Heading.tsx'
import { useCard, useOpened } from './openedCard.ts'
import { Pipeline } from './Pipeline.tsx'
import { Sessions } from './Sessions.tsx'
import { Worktree } from './Worktree.tsx'

/** The settings of a card that few cards need: its worktree, pipeline and budget, and its sessions. Loaded when they are unfolded. */
export function Advanced() {
  const { kind } = useCard()
  const [isOpen, setOpen] = useState(false)
  return (
    <details className="folded" onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>
        <Heading>Advanced</Heading>
      </summary>
      {isOpen && kind === 'kanban' && <AgentSwitches />}
      {isOpen && <Sessions />}
      {isOpen && <Worktree />}
      {isOpen && kind === 'kanban' && <Pipeline />}
      {isOpen && kind === 'kanban' && <CardBudgets />}
    </details>
  )
}

/** Whether the card moves automatically, where its agent works, and with which credential. */
function AgentSwitches() {
  const { projectId, cardId, setCard } = useOpened()
  const { autoMode, useWorktree } = useCard()
  const canWork = useCanWork(projectId)
  const credentials = useLoad(() => client.credentials.list(), [])
  const place = { projectId, cardId }
  const change = (work: ReturnType<typeof client.cards.update>) => void work.then(setCard, showError)
  return (
    <section>
      <Check
        label="Auto mode"
        hint="The card moves through its pipeline automatically."
        value={autoMode}
        disabled={!canWork}
        onChange={enabled => change(client.cards.setAutoMode({ ...place, enabled }))}
      />
      <Check
        label="Separate worktree"
        hint="Without a worktree, the agent works in the project’s folder."
        value={useWorktree}
        disabled={!canWork}
        onChange={next => change(client.cards.update({ ...place, useWorktree: next }))}
      />
      {canWork && (credentials.value?.length ?? 0) > 0 && (
        <CredentialChoice place={place} offered={credentials.value!} />
      )}
    </section>
  )
}

interface CredentialChoiceProps {
  place: { projectId: string; cardId: string }
  offered: readonly { id: string; name: string }[]
}

/** Selects a credential. The server never reveals the current credential of a card, so a choice only replaces it. */
const CredentialChoice = ({ place, offered }: CredentialChoiceProps) => (
  <Choice
    label="Credential"
    hint="A choice replaces the current credential."
    value="keep"
    options={[
      ['keep', 'Keep the current one'],
      ['none', 'Default of the project'],
      ...offered.map(({ id, name }) => [id, name] as const),
    ]}
    onChange={value =>
      void client.credentials
        .chooseForCard({ ...place, credentialId: value === 'none' ? null : value })
        .catch(showError)
    }
  />
)
