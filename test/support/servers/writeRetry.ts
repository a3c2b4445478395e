import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '../../../src/client/index.ts'
import { ApiFailure } from '../../../src/client/failures.ts'

/** Whether an overloaded libSQL server rejected a write before it started: such a write can be sent again. */
const isRefusedWrite = (status: number, message = ''): boolean =>
  status === 503 && message.startsWith('Too many writes are waiting')
const retryMs = 200

/** Repeats a request while its write is rejected before it has started. */
export async function retryRefusedWrite<R extends { status: number; body: any }>(send: () => Promise<R>): Promise<R> {
  for (;;) {
    const reply = await send()
    if (!isRefusedWrite(reply.status, reply.body?.error?.message)) return reply
    await delay(retryMs)
  }
}

/** A client that repeats each call in this way. */
export const retryingClient = (client: Client): Client =>
  new Proxy(client, {
    get: (_, resource) => {
      const calls = Reflect.get(client, resource) as Record<string, (...args: unknown[]) => unknown> | undefined
      // Hide `then`, so that `await` does not treat the proxy as a promise.
      return (
        calls &&
        new Proxy(calls, {
          get: (_target, name) =>
            typeof calls[name as string] === 'function'
              ? (...args: unknown[]) => callWithRetry(() => calls[name as string]!(...args))
              : calls[name as string],
        })
      )
    },
  })

function callWithRetry(call: () => unknown): unknown {
  const result = call()
  return result instanceof Promise
    ? result.catch(async (error: unknown) => {
        if (!(error instanceof ApiFailure && isRefusedWrite(error.status, error.message))) throw error
        await delay(retryMs)
        return callWithRetry(call)
      })
    : result
}
