import { useEffect, useRef } from 'react'

/** Does something again and again while it is wanted, each time only after the last has ended; a failure waits for the next time. */
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
