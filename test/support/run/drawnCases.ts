import fc from 'fast-check'

/** BOARD_TEST_SEED repeats what the properties of a failed run have drawn; the check (.ci/run) draws the same in each run. */
const seed = process.env.BOARD_TEST_SEED
if (seed !== undefined) fc.configureGlobal({ seed: Number(seed) })
