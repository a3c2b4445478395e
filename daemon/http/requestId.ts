const started = Date.now().toString(36)
let requests = 0

/** A new ID for a request: its response has it as `X-Request-Id`, and its log entries as `requestId`. */
export const nextRequestId = (): string => `${started}-${(++requests).toString(36)}`
