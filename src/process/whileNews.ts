const retryMs = 1000

/** Looks once more for whatever wakes it while it looks, and again after a failure; never twice at the same time. */
export interface Lookout {
  wake(): void
  /** Resolves when it does not look. */
  atRest(): Promise<void>
}

/** @param isAwake whether it may look; asked at each waking */
export function whileNews(look: () => Promise<void>, onError: (error: unknown) => void, isAwake: () => boolean): Lookout {
  let isNews = false
  let looking: Promise<void> | undefined
  const lookOn = async () => {
    while (isNews) {
      isNews = false
      await look().catch(error => {
        onError(error)
        setTimeout(wake, retryMs).unref()
      })
    }
    looking = undefined
  }
  const wake = () => {
    isNews = true
    if (isAwake()) looking ??= lookOn()
  }
  return { wake, atRest: () => looking ?? Promise.resolve() }
}
