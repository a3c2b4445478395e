import type { ServerConfig } from './server.ts'

/** A difference between two clocks that is more than their unevenness. */
const jumpMs = 1000

/**
 * Makes the function that looks whether the server's clock was set, by a clock that nobody sets, and does the work if so. Work
 * that fails is done at the next look.
 * @param sinceStart false: the first look does the work, for an earlier server may have had another time
 */
export function clockFollower(
  { clock }: Pick<ServerConfig, 'clock'>,
  work: () => Promise<void>,
  sinceStart = true,
): () => Promise<void> {
  const ahead = () => clock().getTime() - performance.now()
  let knownMs = sinceStart ? ahead() : Infinity
  return async () => {
    const nowMs = ahead()
    if (Math.abs(nowMs - knownMs) < jumpMs) return
    await work()
    knownMs = nowMs
  }
}
