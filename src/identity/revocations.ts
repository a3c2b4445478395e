import type { Database } from '../store/database.ts'
import { listKeysThatExpired } from '../store/keys.ts'
import { listSignInTokensThatExpired } from '../store/signInTokens.ts'

/** What no longer holds: one token (by its hash), every token of an account, or an API key. */
export type Ended = { tokenHash: string } | { userId: number } | { keyId: number }

/** Tells whoever keeps something open for a caller that the caller's token ended. */
export interface Revocations {
  /** Calls the listener for each end that is committed or falls due from now on. Returns the function that stops it. */
  onEnded(listener: (ended: Ended) => void): () => void
  announce(ended: Ended): void
  close(): void
}

const expiryCheckMs = 500

/** Revocations are announced by who makes them; expiry is looked for twice a second while somebody listens. */
export function createRevocations(db: Database, clock: () => Date): Revocations {
  const listeners = new Set<(ended: Ended) => void>()
  let timer: NodeJS.Timeout | undefined
  let checkedUntil = ''
  const announce = (ended: Ended) => { for (const listener of [...listeners]) listener(ended) }
  const stop = () => { clearInterval(timer); timer = undefined }

  const announceExpired = async () => {
    const after = checkedUntil
    checkedUntil = clock().toISOString()
    try {
      for (const { hash } of await listSignInTokensThatExpired(db, after, checkedUntil)) announce({ tokenHash: hash })
      for (const { id } of await listKeysThatExpired(db, after, checkedUntil)) announce({ keyId: id })
    } catch {
      checkedUntil = after
    }
  }
  const start = () => {
    checkedUntil = clock().toISOString()
    timer = setInterval(() => void announceExpired(), expiryCheckMs).unref()
  }

  return {
    announce,
    onEnded: listener => {
      listeners.add(listener)
      if (!timer) start()
      return () => { if (listeners.delete(listener) && listeners.size === 0) stop() }
    },
    close: () => { listeners.clear(); stop() },
  }
}
