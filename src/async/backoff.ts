/**
 * How long to wait before the next attempt: doubles from `firstMs` with each failure, up to `maxMs`, and less a random share of up
 * to `jitter` (0 to 1), so that clients that failed together do not come back together.
 * @param failures how many attempts have failed in a row, at least 1
 */
export function backoffMs(
  failures: number,
  { firstMs, maxMs, jitter = 0 }: { firstMs: number; maxMs: number; jitter?: number },
): number {
  const fullMs = Math.min(firstMs * 2 ** Math.min(failures - 1, 30), maxMs)
  return fullMs * (1 - jitter * Math.random())
}
