import { client } from '../app/session.ts'
import { MessageBox } from '../transcript/MessageBox.tsx'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Markdown } from '../ui/Markdown.tsx'
import { useCanWork } from './canWork.ts'
import { useCard, useOpened } from './openedCard.ts'
import type { PreSession } from './preSession.ts'

/** Starts a conversation with an agent that refines the card's prompt before the work starts. */
export function RefineButton({ onStarted }: { onStarted: () => Promise<void> }) {
  const { projectId, cardId } = useOpened()
  const { hasActiveAgent, archivedAt, kind } = useCard()
  const canWork = useCanWork(projectId)
  if (!canWork || hasActiveAgent || archivedAt !== null || kind !== 'kanban') return null
  return (
    <Button
      icon="message"
      onClick={() => askToBegin(() => client.preSessions.start({ projectId, cardId }).then(onStarted))}
    >
      Refine prompt with an agent…
    </Button>
  )
}

const askToBegin = (run: () => Promise<void>): void =>
  confirm({
    title: 'Refine prompt?',
    text: 'An agent reads the project and asks questions about the task, which uses tokens. The agent changes no files. The card’s prompt changes only if you accept the new prompt.',
    submit: 'Start',
    isDanger: false,
    run,
  })

/** The answer to the agent that refines the prompt, and its draft of the prompt. The conversation is in the activity. */
export function PreSessionBox({ session, onEnded }: { session: PreSession; onEnded: () => Promise<void> }) {
  const opened = useOpened()
  const { projectId, cardId } = opened
  const place = { projectId, sessionId: session.sessionId }
  return (
    <>
      {session.prompt !== null && (
        <details className="folded">
          <summary>Current draft of the prompt</summary>
          <Markdown text={session.prompt} breaks />
        </details>
      )}
      <MessageBox
        projectId={projectId}
        draftKey={`refine ${cardId}`}
        label="Answer the planning agent"
        hint={session.status === 'running' ? 'The planning agent is running.' : undefined}
        onSend={(content, attachmentIds) => client.preSessions.send({ ...place, content, attachmentIds })}
        onFile={file => client.attachments.create({ projectId, cardId, file: { file, filename: file.name } })}
      />
      <div className="tools">
        <Button
          isMain
          disabled={session.prompt === null || session.status === 'running'}
          onClick={async () => {
            opened.setCard(await client.preSessions.accept(place))
            await onEnded()
          }}
        >
          Use prompt
        </Button>
        <Button onClick={() => client.preSessions.cancel(place).then(onEnded)}>Discard</Button>
      </div>
    </>
  )
}
