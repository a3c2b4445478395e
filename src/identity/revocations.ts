/** What no longer holds: one token (by its hash), every token of an account, every sign-in of an account, or an API key. */
export type Ended = { tokenHash: string } | { userId: number } | { signInsOf: number } | { keyId: number }

/** Tells whoever keeps something open for a caller that the caller's token was ended. Expiry is not told: it is seen by looking again. */
export interface Revocations {
  /** Calls the listener for each end that is committed from now on. Returns the function that stops it. */
  onRevoked(listener: (ended: Ended) => void): () => void
  announce(ended: Ended): void
}

export function createRevocations(): Revocations {
  const listeners = new Set<(ended: Ended) => void>()
  return {
    onRevoked: listener => {
      listeners.add(listener)
      return () => { listeners.delete(listener) }
    },
    announce: ended => { for (const listener of listeners) listener(ended) },
  }
}
