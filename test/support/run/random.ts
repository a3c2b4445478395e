export type Random = () => number

/** Numbers from 0 to below 1, always equal for the same seed (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A pseudorandom whole number from two others. */
export function hash(a: number, b: number): number {
  let mixed = Math.imul(a + 1, 0x9e3779b1) ^ Math.imul(b + 1, 0x85ebca77)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
  return (mixed ^ (mixed >>> 15)) >>> 0
}

/** The time until the next random event, at a rate of `rate` per unit of time. */
export const untilNext = (random: Random, rate: number): number => -Math.log(1 - random()) / rate
