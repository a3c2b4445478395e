import { useEffect, useState } from 'react'
import type { Session } from '../../../src/boardModel/openedCard.ts'
import { plainText } from '../ui/plainText.ts'
import { formatTime } from '../ui/Time.tsx'

/** Describes the reason and the end of an agent's wait. Empty for an agent at work. */
export function Waiting({ session }: { session: Session }) {
  const reason = waitOf(session)
  const silence = useSilence(session)
  if (reason === undefined && silence === undefined) return null
  return (
    <p className="notice waits" role="status">
      {reason ?? silence}
    </p>
  )
}

function waitOf({ status, statusReason, notBefore, limitEndsAt, retrying }: Session): string | undefined {
  if (status === 'queued' && notBefore)
    return `The agent has reached a usage limit and continues automatically at ${formatTime(notBefore)}.`
  if (status === 'queued' && statusReason === 'blocked')
    return 'The agent is queued and starts when the card is no longer blocked.'
  if (status === 'queued') return 'The agent is queued and starts when a slot is free.'
  if (status === 'failed' && statusReason === 'usage_limit')
    return limitEndsAt
      ? `The agent has reached a usage limit, which ends at ${formatTime(limitEndsAt)}. Retry then, or choose another agent.`
      : 'The agent has reached a usage limit. Retry later, or choose another agent.'
  return status === 'running' && retrying !== null ? `The agent is retrying: ${plainText(retrying)}` : undefined
}

/** Returns the text for a silence that is long enough to report. */
export function useSilence({
  status,
  statusReason,
  silentSince,
}: Pick<Session, 'status' | 'statusReason' | 'silentSince'>): string | undefined {
  const isLifeless = status === 'waiting' && statusReason === 'silent'
  const since = status === 'running' || isLifeless ? silentSince : null
  const [, setTick] = useState(0)
  useEffect(() => {
    if (since === null) return
    const timer = setInterval(() => setTick(tick => tick + 1), 1000)
    return () => clearInterval(timer)
  }, [since])
  const seconds = since === null ? 0 : Math.round((Date.now() - Date.parse(since)) / 1000)
  const length = seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`
  if (isLifeless && since !== null)
    return `The agent has been silent for ${length}, and its processes are idle. Cancel the agent, or keep waiting.`
  return seconds < 10 ? undefined : `The agent has been silent for ${length}. It might be waiting for its model.`
}
