const started = Date.now().toString(36)
let requests = 0

/** What an answer carries as `X-Request-Id`, and the log with it. */
export const nextRequestId = (): string => `${started}-${(++requests).toString(36)}`
