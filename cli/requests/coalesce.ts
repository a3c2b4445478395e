import { exitOf } from '../failures/failure.ts'

/** Runs one refresh at a time, and one more after it for everything that came meanwhile. One that the server does not answer is left to the next. */
export function coalesceRefresh(refresh: () => Promise<void>): { again: () => void; failed: Promise<never> } {
  let fail: (error: unknown) => void = () => {
    /* set at once */
  }
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  let running = false
  let wanted = false
  const again = async () => {
    wanted = true
    if (running) return
    running = true
    try {
      while (wanted) {
        wanted = false
        await refresh()
      }
    } catch (error) {
      if (exitOf(error) !== 'unreachable') fail(error)
    }
    running = false
  }
  return {
    again: () => {
      void again()
    },
    failed,
  }
}
