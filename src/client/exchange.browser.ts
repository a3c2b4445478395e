/** A request from the page to the server. */
export interface Exchange {
  method: string
  headers: Record<string, string>
  body?: string
  signal?: AbortSignal
  /** The maximum duration of the response. 0: unlimited. */
  timeoutMs: number
}

/** A response with its body. */
export interface Answer {
  status: number
  headers: Record<string, string>
  bytes: Uint8Array
}

/**
 * Sends a request and returns the whole response. Sends no cookies.
 * @throws the error that prevents the response, or the signal's reason
 */
export async function exchange(url: URL, request: Exchange): Promise<Answer> {
  const answer = await openExchange(url, request)
  return { ...answer, bytes: new Uint8Array(await answer.body.arrayBuffer()) }
}

/**
 * Sends a request and returns the response as soon as its head arrives.
 * @throws the error that prevents the response, or the signal's reason
 */
export async function openExchange(
  url: URL,
  { timeoutMs, signal, ...request }: Exchange,
): Promise<{ status: number; headers: Record<string, string>; body: Response }> {
  const limits = [...(signal ? [signal] : []), ...(timeoutMs > 0 ? [AbortSignal.timeout(timeoutMs)] : [])]
  const body = await fetch(url, { ...request, credentials: 'omit', cache: 'no-store', signal: AbortSignal.any(limits) })
  return { status: body.status, headers: Object.fromEntries(body.headers), body }
}
