import { useEffect, useState } from 'react'
import type { Session } from '../../../src/boardModel/openedCard.ts'
import { plainText } from '../ui/plainText.ts'
import { dated } from '../ui/Time.tsx'

/** For what an agent waits, and until when. Nothing is said of one that works. */
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
    return `It has reached a usage limit and goes on by itself at ${dated(notBefore)}.`
  if (status === 'queued' && statusReason === 'blocked') return 'It is queued, and starts once nothing blocks its card.'
  if (status === 'queued') return 'It is queued, and starts as soon as there is room.'
  if (status === 'failed' && statusReason === 'usage_limit')
    return limitEndsAt
      ? `The agent has reached a usage limit, which ends at ${dated(limitEndsAt)}. Retry then, or choose another agent.`
      : 'The agent has reached a usage limit. Retry later, or choose another agent.'
  return status === 'running' && retrying !== null ? `The agent tries again: ${plainText(retrying)}` : undefined
}

/** What a silence means, once it is long enough to be told. */
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
    return `The agent has said nothing for ${length}, and its processes do nothing. Cancel it, or let it go on.`
  return seconds < 10 ? undefined : `The agent has said nothing for ${length}; it may wait for its model.`
}
