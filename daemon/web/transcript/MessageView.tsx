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
  startsSession: boolean
}

/** One message in the format of its role. Renders again only when the message has changed. */
export const MessageView = memo(function MessageView({ message, agent, startsSession }: MessageViewProps) {
  return (
    <li data-id={message.id} className={`message ${message.role}`}>
      {startsSession && <p className="session-start">session {message.sessionId}</p>}
      <Content message={message} agent={agent} />
    </li>
  )
})

function Content({ message, agent }: Omit<MessageViewProps, 'startsSession'>) {
  const { role, tool, content, at } = message
  if (tool) return <ToolCall tool={tool} content={content} at={at} />
  if (role === 'thought') return <Thought text={content} at={at} />
  if (role === 'plan') return <PlanList text={content} />
  if (role === 'system') return <p className="system-text">{plainText(content.trim())}</p>
  return (
    <>
      <p className="speaker">
        <strong>{role === 'user' ? 'You' : plainText(agent ?? 'Agent')}</strong> <Clock at={at} />
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

function Thought({ text, at }: { text: string; at: string }) {
  const first = plainText(text.trim())
    .split('\n', 1)[0]!
    .replaceAll(/[*_`#]/g, '')
  return (
    <details className="thought">
      <summary>
        <span className="kind">Thought</span>{' '}
        <span className="glimpse">{first.length > maxGlimpse ? `${first.slice(0, maxGlimpse)}…` : first}</span>{' '}
        <Clock at={at} />
      </summary>
      <Markdown text={text} />
    </details>
  )
}
