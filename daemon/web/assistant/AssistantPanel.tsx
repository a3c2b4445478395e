import { latestSession } from '../../../src/boardModel/openedCard.ts'
import { useCanWork } from '../card/canWork.ts'
import { useOpenedCard } from '../card/openedCard.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { useStore } from '../app/store.ts'
import { MessageBox } from '../transcript/MessageBox.tsx'
import { Talk } from '../transcript/Talk.tsx'
import { Transcript } from '../transcript/Transcript.tsx'
import { Button } from '../ui/Button.tsx'
import { Await } from '../ui/Page.tsx'

const empty = 'Ask about the project and its cards, or let the assistant create cards.'

/** The conversation with a project's assistant. It exists from the first message. */
export function AssistantPanel({ projectId }: { projectId: string }) {
  const assistant = useLoad(() => client.assistant.get({ projectId }), [projectId])
  return (
    <Await of={assistant}>
      {({ cardId }) =>
        cardId === null ? (
          <div className="talk">
            <Transcript messages={[]} empty={empty} />
            <div className="talk-foot">
              <Box projectId={projectId} cardId={null} agent={null} onSent={assistant.reload} />
            </div>
          </div>
        ) : (
          <AssistantTalk projectId={projectId} cardId={cardId} />
        )
      }
    </Await>
  )
}

function AssistantTalk({ projectId, cardId }: { projectId: string; cardId: string }) {
  const opened = useOpenedCard(projectId, cardId)
  const session = useStore(opened.state, latestSession)
  const canWork = useCanWork(projectId)
  const isAtWork = session !== undefined && /queued|running|waiting/.test(session.status)
  return (
    <Talk opened={opened} empty={empty}>
      {isAtWork && canWork && (
        <div className="tools">
          <Button icon="stop" onClick={() => client.agents.cancel({ projectId, cardId })}>
            Stop
          </Button>
        </div>
      )}
      <Box projectId={projectId} cardId={cardId} agent={session?.agent ?? null} />
    </Talk>
  )
}

interface BoxProps {
  projectId: string
  cardId: string | null
  agent: string | null
  onSent?: () => Promise<void>
}

function Box({ projectId, cardId, agent, onSent }: BoxProps) {
  if (!useCanWork(projectId)) return null
  return (
    <MessageBox
      projectId={projectId}
      draftKey={`assistant ${projectId}`}
      label="Message to the assistant"
      hint="The assistant uses tokens."
      agent={agent}
      onSend={async (content, attachmentIds) => {
        await client.assistant.send({ projectId, content, attachmentIds })
        await onSent?.()
      }}
      onFile={
        cardId === null
          ? undefined
          : file => client.attachments.create({ projectId, cardId, file: { file, filename: file.name } })
      }
    />
  )
}
