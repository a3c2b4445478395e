import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { sendOutbound, whyUnreachable, type OutboundAnswer } from '../egress/request.ts'
import type { Entry } from './entry.ts'
import { logsUrl, toOtlp } from './otlp.ts'
import { redact } from './redact.ts'

/** The receiver of entries, with the request's headers. */
export interface Receiver {
  endpoint: string
  headers: Record<string, string>
  compression: 'none' | 'gzip'
}

/** The result of a request: accepted as a whole or in part, permanently refused, or to be retried. */
export type Delivery =
  | { kind: 'taken'; status: number; rejected: number; why: string | null }
  | { kind: 'refused'; status: number; why: string }
  | { kind: 'later'; status: number | null; why: string; afterMs: number | undefined }

const retryable = new Set([429, 502, 503, 504])
const maxWaitMs = 300_000
const compress = promisify(gzip)

/** Sends entries in one request (OTLP specification, "OTLP/HTTP"). It never throws. */
export async function deliverEntries(
  receiver: Receiver,
  entries: readonly Entry[],
  signal?: AbortSignal,
): Promise<Delivery> {
  try {
    const text = toOtlp(entries)
    const isCompressed = receiver.compression === 'gzip'
    const answer = await sendOutbound(logsUrl(receiver.endpoint), {
      method: 'POST',
      body: isCompressed ? await compress(text) : text,
      signal,
      headers: {
        ...receiver.headers,
        'content-type': 'application/json',
        ...(isCompressed && { 'content-encoding': 'gzip' }),
      },
    })
    return readOutcome(receiver, answer)
  } catch (error) {
    return { kind: 'later', status: null, why: whyUnreachable(error), afterMs: undefined }
  }
}

function readOutcome(receiver: Receiver, { status, headers, text, unfinished }: OutboundAnswer): Delivery {
  const body = parse(text)
  if (status >= 200 && status < 300) {
    if (unfinished !== undefined)
      return { kind: 'later', status, why: `its response ${unfinished}`, afterMs: undefined }
    const { rejectedLogRecords = 0, errorMessage } = (body.partialSuccess ?? {}) as {
      rejectedLogRecords?: string | number
      errorMessage?: unknown
    }
    const rejected = Number(rejectedLogRecords)
    return {
      kind: 'taken',
      status,
      rejected: Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0,
      why: receiverMessage(receiver, errorMessage),
    }
  }
  const why = [`it answered ${status}`, receiverMessage(receiver, body.message)]
    .filter(part => part !== null)
    .join(': ')
  return retryable.has(status)
    ? { kind: 'later', status, why, afterMs: retryAfterMs(headers['retry-after']) }
    : { kind: 'refused', status, why }
}

/** The receiver's message, without the content of the request, because it might repeat the headers. */
function receiverMessage({ headers }: Receiver, message: unknown): string | null {
  if (typeof message !== 'string' || message.trim() === '') return null
  const secrets = Object.values(headers)
    .flatMap(value => [value, ...value.split(/[\s,;=]+/)])
    .filter(part => part.length >= 4)
    .sort((a, b) => b.length - a.length)
  return redact.text(
    secrets.reduce((text, secret) => text.replaceAll(secret, '[redacted]'), message),
    300,
  )
}

function retryAfterMs(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), maxWaitMs)
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
