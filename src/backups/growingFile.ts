import type { MessagePort } from 'node:worker_threads'

/** A file that is still being written: the number of bytes that can be read so far. */
export interface Growth {
  readonly bytes: number
  readonly isWhole: boolean
  /** Resolves when there are more bytes, or when no more will follow. */
  untilMore(): Promise<void>
}
/** The writer's message. */
export interface Grown {
  bytes: number
  isWhole: boolean
}

/** Receives the size of a growing file from another thread. */
export function followGrowth(port: MessagePort): Growth & { close(): void } {
  let now: Grown = { bytes: 0, isWhole: false }
  let wake = () => {
    /* `untilMore` replaces this function while it waits. */
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
    untilMore: () =>
      new Promise(resolve => {
        wake = resolve
      }),
    close: () => port.close(),
  }
}
