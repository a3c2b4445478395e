import { execFileSync } from 'node:child_process'

/**
 * Builds the program of the sources, which tests of the command line run. If several runs are in progress at once, the process
 * that started them has built it (BOARD_TEST_BUILT).
 */
export default (): void => {
  if (!process.env.BOARD_TEST_BUILT)
    execFileSync(process.execPath, ['build.mjs'], { stdio: ['ignore', 'ignore', 'inherit'] })
}
