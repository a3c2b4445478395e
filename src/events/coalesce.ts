/** Calls a listener once for all news of so many milliseconds. */
export function coalesce(listener: () => void, gatherMs: number): () => void {
  let gathering: NodeJS.Timeout | undefined
  return () => {
    gathering ??= setTimeout(() => {
      gathering = undefined
      listener()
    }, gatherMs).unref()
  }
}
