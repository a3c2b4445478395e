import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { afterAll, beforeEach, expect } from 'vitest'

declare global {
  /** Whether a mutant is active. */
  var mutated: (id: string) => boolean
}

const [awake, reachFolder] = [process.env.BOARD_MUTANT, process.env.BOARD_MUTANT_REACH]
const before = new Set<string>()
const within = new Set<string>()
let reached = before

globalThis.mutated = awake
  ? id => id === awake
  : id => {
      reached.add(id)
      return false
    }

if (reachFolder && !awake) {
  beforeEach(() => {
    reached = within
  })
  afterAll(() => {
    const filepath = expect.getState().testPath!
    writeFileSync(
      join(reachFolder, `${relative('.', filepath).replaceAll('/', '-')}.reached`),
      JSON.stringify({ before: [...before], within: [...within] }),
    )
  })
}
