import { taskOf } from '../../../src/boardModel/transcriptItems.ts'
import { useStore } from '../app/store.ts'
import { client } from '../app/session.ts'
import { MessageBox } from '../transcript/MessageBox.tsx'
import { Transcript } from '../transcript/Transcript.tsx'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Markdown } from '../ui/Markdown.tsx'
import { useCanWork } from './canWork.ts'
import { Heading } from './Heading.tsx'
import { useCard, useOpened } from './openedCard.ts'
import { usePreSession } from './preSession.ts'

/** A conversation with an agent that refines the card's prompt before the work starts. */
export function PreSessionTalk() {
  const opened = useOpened()
  const card = useCard()
  const { projectId } = opened
  const talk = usePreSession(projectId, card.id)
  const { session, messages } = useStore(talk.state)
  const canWork = useCanWork(projectId)
  if (!session) {
    if (!canWork || card.hasActiveAgent || card.archivedAt !== null) return null
    return (
      <div className="tools refine">
        <Button icon="message" onClick={() => askToBegin(() => talk.begin())}>
          Refine prompt with an agent…
        </Button>
      </div>
    )
  }
  return (
    <section className="pre-session">
      <Heading>Refining the prompt</Heading>
      <div className="pre-talk">
        <Transcript messages={messages} task={taskOf(card)} empty="The agent is reading the prompt." />
      </div>
      {session.prompt !== null && (
        <details className="folded">
          <summary>Current draft of the prompt</summary>
          <Markdown text={session.prompt} breaks />
        </details>
      )}
      {canWork && (
        <>
          <MessageBox
            projectId={projectId}
            draftKey={`refine ${card.id}`}
            label="Answer the planning agent"
            hint={session.status === 'running' ? 'The planning agent is running.' : undefined}
            onSend={(content, attachmentIds) => talk.send(content, attachmentIds)}
            onFile={file =>
              client.attachments.create({ projectId, cardId: card.id, file: { file, filename: file.name } })
            }
          />
          <div className="tools">
            <Button
              isMain
              disabled={session.prompt === null || session.status === 'running'}
              onClick={async () => opened.setCard(await talk.accept())}
            >
              Use prompt
            </Button>
            <Button onClick={() => talk.cancel()}>Discard</Button>
          </div>
        </>
      )}
    </section>
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
