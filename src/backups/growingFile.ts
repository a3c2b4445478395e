import type { MessagePort } from 'node:worker_threads'

/** A file that somebody writes: how much of it can be read so far. */
export interface Growth {
  readonly bytes: number
  readonly isWhole: boolean
  /** Resolves when there is more, or nothing more will come. */
  more(): Promise<void>
}
/** What the writer says. */
export interface Grown {
  bytes: number
  isWhole: boolean
}

/** Hears from another thread how far a file has grown. */
export function followGrowth(port: MessagePort): Growth & { close(): void } {
  let now: Grown = { bytes: 0, isWhole: false }
  let wake = () => {
    /* Nobody waits. */
  }
  port.on('message', (grown: Grown) => {
    now = grown
    wake()
  })
  return {
    get bytes() {
      return now.bytes
    },
    get isWhole() {
      return now.isWhole
    },
    more: () =>
      new Promise(resolve => {
        wake = resolve
      }),
    close: () => port.close(),
  }
}
