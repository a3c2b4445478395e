import { setTimeout as delay } from 'node:timers/promises'
import { backoffMs } from '../async/backoff.ts'
import type { Log } from '../config/log.ts'
import type { LogLevel } from '../contract/server/logs.ts'
import { deliverEntries, type Delivery, type Receiver } from './delivery.ts'
import { ranks, type Entry } from './entry.ts'

/** Sends the log to a receiver. A slow, dead or refusing receiver costs only a queue of limited size. */
export interface Exporter {
  /** Adds an entry to the queue. A full queue drops its oldest entry. */
  add(entry: Entry): void
  /** Sends to this receiver from now on, or to none. Queued entries go to the new one. */
  use(target: Target | undefined): void
  figures(): { queued: number; dropped: number; sent: number }
  /** Sends the queued entries, unless the receiver fails or takes longer than two seconds. */
  close(): Promise<void>
}
export interface Target extends Receiver {
  minLevel: LogLevel
}

export interface ExportLimits {
  maxQueued: number
  maxConcurrent: number
  delayMs: number
  firstRetryMs: number
  maxRetryMs: number
}
export const exportLimits: ExportLimits = {
  maxQueued: 2048,
  maxConcurrent: 512,
  delayMs: 1000,
  firstRetryMs: 1000,
  maxRetryMs: 60_000,
}
const lastTryMs = 2000

interface State {
  target: Target | undefined
  queue: Entry[]
  sending: number
  running: Promise<void> | undefined
  dropped: number
  sent: number
  failures: number
  hasFailed: boolean
  isStopping: boolean
  wake: AbortController
  end: AbortController
}

/** @param tell logs the state of the export; these entries must not be exported */
export function createExporter(tell: Log, limits: ExportLimits = exportLimits): Exporter {
  const state: State = {
    target: undefined,
    queue: [],
    sending: 0,
    running: undefined,
    dropped: 0,
    sent: 0,
    failures: 0,
    hasFailed: false,
    isStopping: false,
    wake: new AbortController(),
    end: new AbortController(),
  }
  const start = () => {
    state.running ??= run(state, tell, limits).finally(() => {
      state.running = undefined
    })
  }
  return {
    add: entry => {
      if (!state.target || ranks[entry.level] < ranks[state.target.minLevel] || state.isStopping) return
      state.queue.push(entry)
      if (state.queue.length + state.sending > limits.maxQueued) {
        state.queue.shift()
        state.dropped++
      }
      start()
    },
    use: target => {
      state.target = target
      state.failures = 0
      state.wake.abort()
      if (!target) state.queue.length = 0
    },
    figures: () => ({ queued: state.queue.length + state.sending, dropped: state.dropped, sent: state.sent }),
    close: async () => {
      state.isStopping = true
      state.wake.abort()
      const timer = setTimeout(() => state.end.abort(), lastTryMs)
      await state.running
      if (state.target && state.queue.length > 0 && state.failures === 0)
        await deliverEntries(state.target, state.queue.splice(0), state.end.signal)
      clearTimeout(timer)
    },
  }
}

/** Sends the queued entries, batch after batch, until the queue is empty. */
async function run(state: State, tell: Log, limits: ExportLimits): Promise<void> {
  await rest(state, limits.delayMs)
  while (state.target && state.queue.length > 0 && !state.isStopping) {
    const batch = state.queue.splice(0, limits.maxConcurrent)
    state.sending = batch.length
    const delivery = await deliverEntries(state.target, batch, state.end.signal)
    state.sending = 0
    if (delivery.kind === 'later') putBack(state, batch, limits)
    else count(state, batch.length, delivery)
    if (!state.isStopping) report(state, tell, delivery)
    await rest(
      state,
      delivery.kind === 'later'
        ? waitMs(state, delivery.afterMs, limits)
        : state.queue.length < limits.maxConcurrent
          ? limits.delayMs
          : 0,
    )
  }
}

async function rest(state: State, ms: number): Promise<void> {
  if (state.isStopping) return
  state.wake = new AbortController()
  await delay(ms, undefined, { signal: state.wake.signal, ref: false }).catch(() => {
    /* The receiver was replaced, or the server stops. */
  })
}

function putBack(state: State, batch: readonly Entry[], { maxQueued }: ExportLimits): void {
  const room = Math.max(0, maxQueued - state.queue.length)
  state.queue.unshift(...batch.slice(Math.max(0, batch.length - room)))
  state.dropped += Math.max(0, batch.length - room)
}

function count(state: State, total: number, delivery: Exclude<Delivery, { kind: 'later' }>): void {
  const rejected = delivery.kind === 'taken' ? Math.min(delivery.rejected, total) : total
  state.sent += total - rejected
  state.dropped += rejected
}

/** The receiver can specify when to retry. */
function waitMs(state: State, afterMs: number | undefined, { firstRetryMs, maxRetryMs }: ExportLimits): number {
  state.failures++
  return afterMs ?? backoffMs(state.failures, { firstMs: firstRetryMs, maxMs: maxRetryMs, jitter: 0.3 })
}

/** Logs the start and the end of a failure, not each attempt. */
function report(state: State, tell: Log, delivery: Delivery): void {
  const isFine = delivery.kind === 'taken' && delivery.rejected === 0
  if (isFine) state.failures = 0
  if (isFine === !state.hasFailed) return
  state.hasFailed = !isFine
  if (isFine) tell('info', 'The log export works again.', { dropped: state.dropped })
  else
    tell('warn', 'The log export does not work.', {
      why:
        delivery.kind === 'taken'
          ? `it rejected ${delivery.rejected} entries: ${delivery.why ?? 'no reason given'}`
          : delivery.why,
      willRetry: delivery.kind === 'later',
    })
}
