/** Reads from the files of a commit. @param commit a full object ID */
type ReadCommit<T> = (commonDir: string, commit: string) => Promise<T>

const maxKept = 500

/**
 * Caches data from commits. A commit never changes, agents wait for these reads, and most cards start at the same commit. Keeps
 * the last 500 results, except failures.
 */
export function cacheByCommit<T>(read: ReadCommit<T>): ReadCommit<T> {
  const kept = new Map<string, Promise<T>>()
  return (commonDir, commit) => {
    const key = `${commonDir}\0${commit}`
    const known = kept.get(key)
    if (known) return known
    const result = read(commonDir, commit)
    kept.set(key, result)
    for (const oldest of kept.keys()) if (kept.size > maxKept) kept.delete(oldest)
    result.catch(() => kept.delete(key))
    return result
  }
}
