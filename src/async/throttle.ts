export interface Throttled {
  /** Calls the listener within the interval. */
  (): void
  /** Calls the listener now if a call is due. */
  flush(): void
  /** Drops the call that is due. */
  cancel(): void
}

/** Calls `listener` once for all calls within `intervalMs`, at the end of the interval. Keeps no process alive. */
export function throttle(listener: () => void, intervalMs: number): Throttled {
  let timer: NodeJS.Timeout | undefined
  const cancel = () => {
    clearTimeout(timer)
    timer = undefined
  }
  const call = () => {
    timer = undefined
    listener()
  }
  return Object.assign(
    () => {
      timer ??= setTimeout(call, intervalMs).unref()
    },
    {
      cancel,
      flush: () => {
        if (!timer) return
        cancel()
        listener()
      },
    },
  )
}
