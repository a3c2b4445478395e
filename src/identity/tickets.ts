import { hashToken } from '../ids/token.ts'

/** Things that are kept under a secret for a short time, and that each can be taken once. */
export interface Tickets<T> {
  keep(secret: string, value: T): void
  /** What was kept under the secret, unless it was taken or its time is over. */
  take(secret: string): T | undefined
}

/** @param most of more than these the oldest are forgotten, which bounds what strangers can make the server remember */
export function createTickets<T>({ most, lifeMs, clock }: { most: number; lifeMs: number; clock: () => Date }): Tickets<T> {
  const kept = new Map<string, { value: T; endsAt: number }>()
  const forget = (nowMs: number) => {
    for (const [key, { endsAt }] of kept) {
      if (kept.size < most && endsAt > nowMs) return
      kept.delete(key)
    }
  }
  return {
    keep: (secret, value) => {
      const nowMs = clock().getTime()
      forget(nowMs)
      kept.set(hashToken(secret), { value, endsAt: nowMs + lifeMs })
    },
    take: secret => {
      const key = hashToken(secret)
      const ticket = kept.get(key)
      kept.delete(key)
      return ticket && ticket.endsAt > clock().getTime() ? ticket.value : undefined
    },
  }
}
