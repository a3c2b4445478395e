import { useState } from 'react'
import type { CardDetail } from '../../../src/boardModel/cardCache.ts'
import { latestSession } from '../../../src/boardModel/openedCard.ts'
import { client } from '../app/session.ts'
import { useStore } from '../app/store.ts'
import { MessageBox } from '../transcript/MessageBox.tsx'
import { useDraft } from '../ui/draft.ts'
import { Segments } from '../ui/Segments.tsx'
import { useCanWork } from './canWork.ts'
import { CommentBox } from './CommentBox.tsx'
import { useCard, useOpened } from './openedCard.ts'

interface ComposerProps {
  /** Whether the box starts as a comment instead of a message to the agent. */
  isComment: boolean
  onComment: () => Promise<void>
}

/** The box below the activity: a message to the agent, or a comment. */
export function Composer({ isComment, onComment }: ComposerProps) {
  const { projectId, cardId, state } = useOpened()
  const card = useCard()
  const session = useStore(state, latestSession)
  const canMessage = useCanWork(projectId) && card.kind !== 'terminal'
  const [kind, setKind] = useState<'message' | 'comment'>(isComment ? 'comment' : 'message')
  const [text, setText] = useDraft(`comment ${cardId}`)
  const place = { projectId, cardId }
  const choice = canMessage && (
    <Segments
      label="Write"
      value={kind}
      options={[
        { value: 'message', text: 'Message' },
        { value: 'comment', text: 'Comment' },
      ]}
      onChange={setKind}
    />
  )
  if (kind === 'comment' || !canMessage)
    return (
      <CommentBox
        label="Write a comment"
        text={text}
        onText={setText}
        submit="Comment"
        choice={choice}
        onSubmit={async () => {
          await client.comments.create({ ...place, body: text })
          setText('')
          await onComment()
        }}
      />
    )
  const agent = session?.agent ?? card.agent
  return (
    <MessageBox
      projectId={projectId}
      draftKey={cardId}
      label={`Message to ${agent ?? 'the agent'}`}
      hint={hintOf(card, session !== undefined)}
      agent={agent}
      choice={choice}
      onSend={(content, attachmentIds) => client.agents.send({ ...place, content, attachmentIds })}
      onFile={file => client.attachments.create({ ...place, file: { file, filename: file.name } })}
    />
  )
}

function hintOf({ hasActiveAgent, statusReason }: CardDetail, hasSession: boolean): string {
  if (hasActiveAgent && statusReason === 'budget') return 'The agent accepts messages again when the budget allows it.'
  if (hasActiveAgent && statusReason === 'question') return 'Sending continues the session, which uses tokens.'
  if (hasActiveAgent) return 'The agent is running and reads your message at the end of its turn.'
  return hasSession ? 'Sending resumes the agent, which uses tokens.' : 'Sending starts the agent.'
}
