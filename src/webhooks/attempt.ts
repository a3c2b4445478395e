import { Webhook } from 'standardwebhooks'
import type { ServerConfig } from '../config/server.ts'
import { Problem } from '../contract/errors.ts'
import type { Seal } from '../identity/seal.ts'
import { sendOutbound, whyUnreachable } from '../egress/request.ts'
import type { EgressPolicy } from '../egress/egressPolicy.ts'
import { EgressRefused } from '../egress/guardedLookup.ts'
import type { AttemptRow, DueDelivery } from '../store/automation/deliveries.ts'
import { openSecret } from './secrets.ts'

const maxAnswerBytes = 4096
/** Allows receivers that respond with a whole page. */
const maxReadBytes = 1024 * 1024
const jitter = 0.1

/** The dependencies of attempts. `onFailure` receives errors that the receiver did not cause. */
export interface AttemptDependencies {
  config: Pick<ServerConfig, 'clock' | 'webhookTiming'>
  seal: Seal
  egress: EgressPolicy
  onFailure: (error: unknown) => void
}

/** Whether the receiver no longer accepts messages. */
export const isGone = ({ responseStatus }: Pick<AttemptRow, 'responseStatus'>): boolean => responseStatus === 410

/**
 * Sends a message once, signed (Standard Webhooks 1.0). It succeeds if the receiver responds with 2xx and the whole response
 * arrives within the time limit and 1 MiB. A redirect is a failure. The first 4 KiB of the response are stored.
 * @returns the result, with the time of the next attempt if a retry makes sense; undefined if `signal` stopped it
 */
export async function attemptDelivery(
  { config, seal, egress, onFailure }: AttemptDependencies,
  delivery: DueDelivery,
  signal: AbortSignal,
): Promise<AttemptRow | undefined> {
  const { timeoutMs, retrySecs } = config.webhookTiming
  const startedAt = config.clock()
  const began = performance.now()
  const came: Pick<AttemptRow, 'responseStatus' | 'responseBody' | 'error'> = {
    responseStatus: null,
    responseBody: null,
    error: null,
  }
  try {
    const headers = signedHeaders(seal, delivery, startedAt)
    const limits = {
      timeLimitMs: timeoutMs,
      maxBytes: maxAnswerBytes,
      maxReadBytes,
      keepsUnfinished: true,
      dispatcher: await egress.dispatcher(),
    }
    const { status, text, unfinished } = await sendOutbound(
      delivery.url,
      { method: 'POST', headers, body: delivery.body, signal },
      limits,
    )
    if (signal.aborted && unfinished !== undefined) return undefined
    Object.assign(came, {
      responseStatus: status,
      responseBody: text.replaceAll('\0', '\u2400'),
      error: whyRefused(status, unfinished),
    })
  } catch (error) {
    if (signal.aborted) return undefined
    const why = whyFailed(error, timeoutMs)
    if (why === undefined) onFailure(error)
    came.error = why ?? 'The server could not send it; see its log.'
  }
  const pauseSecs = came.error === null || isGone(came) ? undefined : retrySecs[delivery.attempts]
  const nextAttemptAt =
    pauseSecs === undefined
      ? null
      : new Date(config.clock().getTime() + pauseSecs * 1000 * (1 + jitter * (2 * Math.random() - 1))).toISOString()
  return {
    ...came,
    url: delivery.url,
    durationMs: Math.round(performance.now() - began),
    startedAt: startedAt.toISOString(),
    nextAttemptAt,
    status: came.error === null ? 'succeeded' : nextAttemptAt === null ? 'failed' : 'pending',
  }
}

function whyRefused(status: number, unfinished: string | undefined): string | null {
  if (status < 200 || status > 299) return `The receiver answered with status ${status}.`
  return unfinished === undefined
    ? null
    : `The receiver answered with status ${status}, but its response ${unfinished}.`
}

function signedHeaders(seal: Seal, delivery: DueDelivery, at: Date): Record<string, string> {
  const signature = new Webhook(openSecret(seal, delivery)).sign(delivery.messageId, at, delivery.body)
  return {
    'content-type': 'application/json',
    accept: '*/*',
    'webhook-id': delivery.messageId,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': signature,
  }
}

/** Undefined for an error that is not a network error, which always has a code. */
function whyFailed(error: unknown, timeoutMs: number): string | undefined {
  if (error instanceof EgressRefused || error instanceof Problem) return error.message
  const { name, code } = error as { name?: string; code?: unknown }
  if (name !== 'TimeoutError' && typeof code !== 'string') return undefined
  return `The receiver could not be reached: ${whyUnreachable(error, timeoutMs)}.`
}
