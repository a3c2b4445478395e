/** Whether this run covers all cases: `npm run test:load`. */
export const inFull = process.env.BOARD_TEST_FULL === '1'

/** Returns every n-th case, always the same ones, and in a full run all of them. */
export const sample = <T>(cases: readonly T[], each: number): readonly T[] =>
  inFull ? cases : cases.filter((_, at) => at % each === 0)
