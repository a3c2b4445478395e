import { execFileSync } from 'node:child_process'

/** Tests of the command line run the built program: this is the one that the sources make. */
export default (): void => {
  execFileSync(process.execPath, ['build.mjs'], { stdio: ['ignore', 'ignore', 'inherit'] })
}
