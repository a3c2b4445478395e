import fc from 'fast-check'

/** BOARD_TEST_SEED repeats the random cases of a failed run. test/run.mjs always sets it. */
const seed = process.env.BOARD_TEST_SEED
if (seed !== undefined) fc.configureGlobal({ seed: Number(seed) })
