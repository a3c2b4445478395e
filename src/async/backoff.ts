/**
 * The delay before the next attempt. It doubles from `firstMs` with each failure, up to `maxMs`. A random share of up to
 * `jitter` (0 to 1) is subtracted, so that clients that failed together do not retry together.
 * @param failures the number of consecutive failures, at least 1
 */
export function backoffMs(
  failures: number,
  { firstMs, maxMs, jitter = 0 }: { firstMs: number; maxMs: number; jitter?: number },
): number {
  const fullMs = Math.min(firstMs * 2 ** Math.min(failures - 1, 30), maxMs)
  return fullMs * (1 - jitter * Math.random())
}
