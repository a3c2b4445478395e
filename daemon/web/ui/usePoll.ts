import { useEffect, useRef } from 'react'

/**
 * Repeats an action while the component needs it. Each run starts after the previous one ends, and a failed run is
 * retried by the next one.
 */
export function usePoll(isWanted: boolean, everyMs: number, run: () => Promise<unknown>): void {
  const latest = useRef(run)
  latest.current = run
  useEffect(() => {
    if (!isWanted) return
    let timer: ReturnType<typeof setTimeout>
    let hasEnded = false
    const pollAgain = async () => {
      await latest.current().catch(() => undefined)
      if (!hasEnded) schedule()
    }
    const schedule = () => {
      timer = setTimeout(() => void pollAgain(), everyMs)
    }
    schedule()
    return () => {
      hasEnded = true
      clearTimeout(timer)
    }
  }, [isWanted, everyMs])
}
