import type { Clock } from './clock.ts'

/** The minimum difference between the two clocks that counts as a change of the clock. Smaller ones are drift. */
const jumpMs = 1000

/**
 * Returns a function that runs `work` if the system clock was set since its last call, compared with the monotonic clock. Failed
 * work runs again at the next call.
 * @param sinceStart false: the first call always runs the work, because an earlier server might have had another time
 */
export function createClockJumpCheck(
  { clock }: { clock: Clock },
  work: () => Promise<void>,
  sinceStart = true,
): () => Promise<void> {
  const offsetMs = () => clock().getTime() - performance.now()
  let knownMs = sinceStart ? offsetMs() : Infinity
  return async () => {
    const nowMs = offsetMs()
    if (Math.abs(nowMs - knownMs) < jumpMs) return
    await work()
    knownMs = nowMs
  }
}
