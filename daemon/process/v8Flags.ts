import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { collectGarbage } from '../../src/system/collectGarbage.ts'

/** By how much more than what is in use the heap grows before it is cleared. V8 by itself lets it grow up to four times as large. */
const growthPercent = 50
/** The room for new objects, which there is twice. V8 by itself lets it grow to 16 MiB. */
const maxNewSpaceBytes = 8 * 1024 * 1024

/** When what the start has left is collected: after most of what is loaded ahead. */
const firstCollectionMs = 1200
let areSet = false

/**
 * Has a process that is a server and nothing else hold less memory that it has no use for: a third less under load, at no cost in
 * time that could be measured.
 */
export function setV8Flags(): void {
  areSet = true
  setFlags()
  // That room grows and shrinks when garbage is collected, and each thread that starts sets the factor back to two.
  new PerformanceObserver(boundNewSpace).observe({ entryTypes: ['gc'] })
  // The heap may grow by that much more than was in use when it was last cleared. Before the first time V8 lets it grow to 100 MB.
  setTimeout(collectGarbage, firstCollectionMs).unref()
}

/** Does what must be done under V8's own flags: it takes the code that the build has kept (bin/load.js) under no others. */
export function withoutV8Flags<T>(work: () => T): T {
  if (!areSet) return work()
  setFlagsFromString('--heap-growing-percent=0')
  setFlagsFromString('--semi-space-growth-factor=2')
  try {
    return work()
  } finally {
    setFlags()
  }
}

function setFlags(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`)
  boundNewSpace()
}

function boundNewSpace(): void {
  const { space_used_size: used, space_available_size: available } = getHeapSpaceStatistics().find(
    ({ space_name: name }) => name === 'new_space',
  )!
  setFlagsFromString(`--semi-space-growth-factor=${(used + available) * 2 > maxNewSpaceBytes ? 1 : 2}`)
}
