import { EventEmitter } from 'node:events'

/** What the transactions of one open database have committed: events, and changes of rights of an account (undefined: perhaps of all). */
export type CommitSignals = EventEmitter<{ events: []; rights: [userId: number | undefined] }>

export function createCommitSignals(): CommitSignals {
  const signals: CommitSignals = new EventEmitter()
  // Each open socket may listen.
  signals.setMaxListeners(0)
  return signals
}
