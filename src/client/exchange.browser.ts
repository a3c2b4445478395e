/** One request of a page. */
export interface Exchange {
  method: string
  headers: Record<string, string>
  body?: string
  signal?: AbortSignal
  /** How long the answer may take. 0: for ever. */
  timeoutMs: number
}

/** An answer whose body is read. */
export interface Answer {
  status: number
  headers: Record<string, string>
  bytes: Uint8Array
}

/**
 * Sends a request and gives the whole answer. No cookie goes with it.
 * @throws whatever keeps the answer from coming, and the signal's reason
 */
export async function exchange(url: URL, request: Exchange): Promise<Answer> {
  const answer = await openExchange(url, request)
  return { ...answer, bytes: new Uint8Array(await answer.body.arrayBuffer()) }
}

/**
 * Sends a request and gives the answer as soon as its head is there.
 * @throws whatever keeps the answer from coming, and the signal's reason
 */
export async function openExchange(
  url: URL,
  { timeoutMs, signal, ...request }: Exchange,
): Promise<{ status: number; headers: Record<string, string>; body: Response }> {
  const limits = [...(signal ? [signal] : []), ...(timeoutMs > 0 ? [AbortSignal.timeout(timeoutMs)] : [])]
  const body = await fetch(url, { ...request, credentials: 'omit', cache: 'no-store', signal: AbortSignal.any(limits) })
  return { status: body.status, headers: Object.fromEntries(body.headers), body }
}
