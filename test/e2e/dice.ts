/** Random draws that a seed repeats. */
export interface Dice {
  /** A whole number from `low` to `high`, inclusive. */
  between(low: number, high: number): number
  pick<T>(from: readonly T[]): T
  chance(probability: number): boolean
}

export function createDice(seed: number): Dice {
  let state = seed >>> 0
  // A linear congruential generator with the multiplier of Numerical Recipes; its upper bits are random enough to draw from.
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  return {
    between: (low, high) => low + Math.floor(next() * (high - low + 1)),
    pick: from => from[Math.floor(next() * from.length)]!,
    chance: probability => next() < probability,
  }
}
