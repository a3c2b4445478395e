/** Whether this run goes through everything: `npm run test:load`. */
export const inFull = process.env.BOARD_TEST_FULL === '1'

/** Each so-and-so-many of the cases, always the same ones; in a full run all of them. */
export const sample = <T>(cases: readonly T[], each: number): readonly T[] =>
  inFull ? cases : cases.filter((_, at) => at % each === 0)
