import { memo } from 'react'
import type { Message } from '../../../src/boardModel/openedCard.ts'
import { Icon } from '../ui/Icon.tsx'
import { Markdown } from '../ui/Markdown.tsx'
import { plainText } from '../ui/plainText.ts'
import { Clock } from './Clock.tsx'
import { PlanList } from './PlanList.tsx'
import { ToolCall } from './ToolCall.tsx'

interface MessageViewProps {
  message: Message
  agent: string | undefined
  startsSession?: boolean
  /** Whether the board wrote the message as the prompt of the session. */
  isPrompt?: boolean
}

/** One message in the format of its role. Renders again only when the message has changed. */
export const MessageView = memo(function MessageView({ message, agent, startsSession, isPrompt }: MessageViewProps) {
  return (
    <li data-id={message.id} className={`message ${isPrompt ? 'prompt' : message.role}`}>
      {startsSession && <p className="session-start">Session {message.sessionId}</p>}
      {isPrompt ? (
        <Folded kind="Details of the prompt" text={message.content} at={message.at} />
      ) : (
        <Content message={message} agent={agent} />
      )}
    </li>
  )
})

function Content({ message, agent }: Pick<MessageViewProps, 'message' | 'agent'>) {
  const { role, tool, content, at } = message
  if (tool) return <ToolCall tool={tool} content={content} at={at} />
  if (role === 'thought') return <Folded kind="Thought" text={content} at={at} />
  if (role === 'plan') return <PlanList text={content} />
  if (role === 'system') return <p className="system-text">{plainText(content.trim())}</p>
  // Another member, or the board, can also have sent a message.
  const name = plainText(agent ?? (role === 'user' ? 'the agent' : 'Agent'))
  return (
    <>
      <p className="speaker">
        <strong>{role === 'user' ? `Message to ${name}` : name}</strong> <Clock at={at} />
      </p>
      <Markdown text={content} breaks={role === 'user'} />
      {message.attachments.map(({ id, filename }) => (
        <span key={id} className="given">
          <Icon name="attach" /> {plainText(filename)}
        </span>
      ))}
    </>
  )
}

const maxGlimpse = 90

/** A text, folded to its first line. */
function Folded({ kind, text, at }: { kind: string; text: string; at: string }) {
  const first = plainText(text.trim())
    .split('\n', 1)[0]!
    .replaceAll(/[*_`#]/g, '')
  return (
    <details className="thought">
      <summary>
        <span className="kind">{kind}</span>{' '}
        <span className="glimpse">{first.length > maxGlimpse ? `${first.slice(0, maxGlimpse)}…` : first}</span>{' '}
        <Clock at={at} />
      </summary>
      <Markdown text={text} />
    </details>
  )
}
