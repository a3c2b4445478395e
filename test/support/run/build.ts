import { execFileSync } from 'node:child_process'

/**
 * Tests of the command line run the built program: this is the one that the sources make. Where several runs are under way at once, who
 * began them has built it (BOARD_TEST_BUILT).
 */
export default (): void => {
  if (!process.env.BOARD_TEST_BUILT)
    execFileSync(process.execPath, ['build.mjs'], { stdio: ['ignore', 'ignore', 'inherit'] })
}
