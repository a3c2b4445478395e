import { useEffect, useState } from 'react'
import type { Session } from '../../../src/boardModel/openedCard.ts'
import { plainText } from '../ui/plainText.ts'
import { dated } from '../ui/Time.tsx'

/** For what an agent waits, and until when. Nothing is said of one that works. */
export function Waiting({ session }: { session: Session }) {
  const reason = waitOf(session)
  const silence = useSilence(session.status === 'running' ? session.silentSince : null)
  if (reason === undefined && silence === undefined) return null
  return (
    <p className="notice waits" role="status">
      {reason ?? `The agent has said nothing for ${silence}; it may wait for its model.`}
    </p>
  )
}

function waitOf({ status, statusReason, notBefore, limitEndsAt, retrying }: Session): string | undefined {
  if (status === 'queued' && notBefore)
    return `It has reached a usage limit and goes on by itself at ${dated(notBefore)}.`
  if (status === 'queued') return 'It is queued, and starts as soon as there is room.'
  if (status === 'failed' && statusReason === 'usage_limit')
    return limitEndsAt
      ? `The agent has reached a usage limit, which ends at ${dated(limitEndsAt)}. Retry then, or choose another agent.`
      : 'The agent has reached a usage limit. Retry later, or choose another agent.'
  return status === 'running' && retrying !== null ? `The agent tries again: ${plainText(retrying)}` : undefined
}

/** How long a silence is by now, once it is long enough to be told. */
function useSilence(since: string | null): string | undefined {
  const [, setTick] = useState(0)
  useEffect(() => {
    if (since === null) return
    const timer = setInterval(() => setTick(tick => tick + 1), 1000)
    return () => clearInterval(timer)
  }, [since])
  const seconds = since === null ? 0 : Math.round((Date.now() - Date.parse(since)) / 1000)
  if (seconds < 10) return undefined
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`
}
