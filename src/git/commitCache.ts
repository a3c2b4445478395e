/** Reads from the files of a commit. @param commit a full object ID */
type ReadCommit<T> = (commonDir: string, commit: string) => Promise<T>

const maxKept = 500

/**
 * Remembers what was read from commits, because a commit never changes: agents wait for these reads, and most cards begin at the same
 * commit. The last 500 results are kept. A failed read is not.
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
