import { resolve } from 'node:path'
import type { Programs } from '../../../cli/programs.ts'

/** The object that `bin/board.js` passes to the command line, for the sources. */
export const programs: Programs = {
  path: resolve(import.meta.dirname, '../../../bin/board.js'),
  server: () => import('../../../daemon/program.ts'),
}
