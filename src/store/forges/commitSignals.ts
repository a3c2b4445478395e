import { EventEmitter } from 'node:events'

/**
 * Emitted after each commit of an open database: for events, and for changed permissions of an account (undefined:
 * possibly of all).
 */
export type CommitSignals = EventEmitter<{ events: []; rights: [userId: number | undefined] }>

export function createCommitSignals(): CommitSignals {
  const signals: CommitSignals = new EventEmitter()
  // Each open socket adds a listener.
  signals.setMaxListeners(0)
  return signals
}
