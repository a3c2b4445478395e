/** Smaller differences are drift between the two clocks, not a clock that was set. */
const jumpMs = 1000

/**
 * Makes a function that runs `work` when the wall clock was set since its last call, which the monotonic clock shows. Work that
 * fails runs again at the next call.
 * @param sinceStart false: the first call always runs the work, since an earlier server may have had another time
 */
export function createClockJumpCheck(
  { clock }: { clock(): Date },
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
