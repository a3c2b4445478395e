import { latestSession } from '../../../src/boardModel/openedCard.ts'
import { client } from '../app/session.ts'
import { useStore } from '../app/store.ts'
import { useCanWork } from '../card/canWork.ts'
import { useCard, useOpened } from '../card/openedCard.ts'
import { MessageBox } from './MessageBox.tsx'
import { Talk } from './Talk.tsx'

/** The transcript of a card, the questions of its agent, and the message box. */
export function CardTranscript() {
  const opened = useOpened()
  const { projectId, cardId } = opened
  const card = useCard()
  const session = useStore(opened.state, latestSession)
  const canWork = useCanWork(projectId)
  const place = { projectId, cardId }
  const agent = session?.agent ?? card.agent
  return (
    <Talk opened={opened} empty={session ? 'No messages yet.' : 'No agent has worked on this card.'}>
      {canWork && card.kind !== 'terminal' && (
        <MessageBox
          projectId={projectId}
          draftKey={cardId}
          label={`Message to ${agent ?? 'the agent'}`}
          hint={hintOf(card, session !== undefined)}
          agent={agent}
          onSend={(content, attachmentIds) => client.agents.send({ ...place, content, attachmentIds })}
          onFile={file => client.attachments.create({ ...place, file: { file, filename: file.name } })}
        />
      )}
    </Talk>
  )
}

function hintOf(
  { hasActiveAgent, statusReason }: { hasActiveAgent: boolean; statusReason: string | null },
  hasSession: boolean,
): string {
  if (hasActiveAgent && statusReason === 'budget') return 'The agent accepts messages again when the budget allows it.'
  if (hasActiveAgent && statusReason === 'question') return 'Sending continues the session, which uses tokens.'
  if (hasActiveAgent) return 'The agent is running and reads your message at the end of its turn.'
  return hasSession ? 'Sending resumes the agent, which uses tokens.' : 'Sending starts the agent.'
}
