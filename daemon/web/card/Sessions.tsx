import { useState } from 'react'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { useStore } from '../app/store.ts'
import { Used } from '../transcript/StatusLine.tsx'
import { Markdown } from '../ui/Markdown.tsx'
import { Await } from '../ui/Page.tsx'
import { plainText } from '../ui/plainText.ts'
import { Status } from '../ui/Status.tsx'
import { Time } from '../ui/Time.tsx'
import { Heading } from './Heading.tsx'
import { useOpened } from './openedCard.ts'

/** The sessions of the card's agents. Loaded when the list is unfolded. */
export function Sessions() {
  const { state } = useOpened()
  const count = useStore(state, ({ sessions }) => sessions.length)
  const [isOpen, setOpen] = useState(false)
  if (count === 0) return null
  return (
    <details className="folded" onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>
        <Heading>Sessions</Heading> <span className="dim">{count}</span>
      </summary>
      {isOpen && <History />}
    </details>
  )
}

function History() {
  const { projectId, cardId, state } = useOpened()
  const sessions = useStore(state, now => now.sessions)
  const last = sessions.at(-1)
  const history = useLoad(() => client.agents.history({ projectId, cardId }), [cardId, sessions.length, last?.status])
  return (
    <Await of={history}>
      {rows => (
        <ol className="history">
          {rows.toReversed().map(row => {
            const usage = sessions.find(({ sessionId }) => sessionId === row.sessionId)?.usage
            return (
              <li key={row.sessionId}>
                <p className="session-facts">
                  <strong>{plainText(row.agent)}</strong> <Status status={row.status} reason={row.statusReason} />
                  {row.startedAt && <Time at={row.startedAt} />}
                  <span>
                    {row.messages} messages, {row.toolCalls} tool calls, {row.filesChanged} files changed
                  </span>
                  {usage && <Used usage={usage} />}
                </p>
                {row.summary && <Markdown text={row.summary} />}
              </li>
            )
          })}
        </ol>
      )}
    </Await>
  )
}
