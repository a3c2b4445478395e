import type { RawUpdate } from '../../link/agentLink.ts'
import type { HandoffSettings } from '../prompts/handoff.ts'

/** Watches how much of a session's context is used. */
export interface ContextWatch {
  /** Applies these settings from now on. Without settings, the context is never full. */
  configure(settings: HandoffSettings): void
  add(update: RawUpdate): void
  /**
   * Whether the context has passed the threshold. False for a session that started above the threshold, because a fresh session
   * would not be smaller.
   */
  isFull(): boolean
}

export function createContextWatch(): ContextWatch {
  let settings: HandoffSettings | undefined
  let percent: number | undefined
  let minPercent = Infinity
  return {
    configure: given => {
      settings = given
    },
    add({ sessionUpdate, used, size }) {
      if (sessionUpdate !== 'usage_update' || typeof used !== 'number' || typeof size !== 'number' || !(size > 0))
        return
      percent = (used * 100) / size
      minPercent = Math.min(minPercent, percent)
    },
    isFull: () =>
      settings !== undefined &&
      settings.enabled &&
      percent !== undefined &&
      percent >= settings.thresholdPercent &&
      minPercent < settings.thresholdPercent,
  }
}
