import { useState } from 'react'
import { runWords } from '../../../src/boardModel/transcriptItems.ts'
import type { Message } from '../../../src/boardModel/openedCard.ts'
import { Clock } from './Clock.tsx'
import { MessageView } from './MessageView.tsx'

/** A run of finished tool calls, folded to one line. The calls render when it is opened. */
export function RunView({ messages, agent }: { messages: readonly Message[]; agent: string | undefined }) {
  const [isOpen, setOpen] = useState(false)
  const last = messages.at(-1)!
  const hasFailed = messages.some(({ tool }) => tool?.status === 'failed')
  return (
    <li data-id={last.id} className="message tool">
      <details
        className={`tool ${hasFailed ? 'failed' : 'completed'}`}
        onToggle={event => setOpen(event.currentTarget.open)}
      >
        <summary>
          <span className="sign" aria-hidden="true">
            {hasFailed ? '✗' : '✓'}
          </span>
          {runWords(messages)} <Clock at={last.at} />
        </summary>
        {isOpen && (
          <ol className="calls">
            {messages.map(message => (
              <MessageView key={message.id} message={message} agent={agent} />
            ))}
          </ol>
        )}
      </details>
    </li>
  )
}
