import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: (() => void) | undefined

/** Has V8 collect garbage at once. Does nothing in the build, which keeps code and lets no flags be set. */
export function collectGarbage(): void {
  if (!collect) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('globalThis.gc') as (() => void) | undefined
    // V8 takes kept code under its own flags only.
    setFlagsFromString('--no-expose-gc')
  }
  collect?.()
}
