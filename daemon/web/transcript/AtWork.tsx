import { useEffect, useState } from 'react'
import type { Message, Session } from '../../../src/boardModel/openedCard.ts'
import { isFinished } from '../../../src/boardModel/transcriptItems.ts'
import { plainText } from '../ui/plainText.ts'

interface AtWorkProps {
  session: Session
  messages: readonly Message[]
}

/** The current activity of a running agent, and how long it has taken. */
export function AtWork({ session: { status, sessionId, startedAt }, messages }: AtWorkProps) {
  const last = messages.findLast(message => message.sessionId === sessionId)
  const call = messages.findLast(
    message => message.sessionId === sessionId && message.tool && !isFinished(message.tool),
  )
  const since = (call ?? last)?.at ?? startedAt
  if (status !== 'running' || since === null) return null
  const words = call?.tool ? call.tool.name || call.tool.kind : last?.role === 'thought' ? 'Thinking' : 'Working'
  return (
    <p className="at-work">
      <span className="spinner" aria-hidden="true" />
      {call ? <code className="words">{plainText(words)}</code> : <span>{words}</span>}
      <Elapsed key={since} since={since} />
    </p>
  )
}

/** The time since a moment, updated every second. */
function Elapsed({ since }: { since: string }) {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  const seconds = Math.max(0, Math.round((now - Date.parse(since)) / 1000))
  const minutes = Math.floor(seconds / 60)
  return <span className="dim">{minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`}</span>
}
