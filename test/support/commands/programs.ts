import { resolve } from 'node:path'
import type { Programs } from '../../../cli/programs.ts'

/** What `bin/board.js` hands to the command line, of the sources. */
export const programs: Programs = {
  path: resolve(import.meta.dirname, '../../../bin/board.js'),
  server: () => import('../../../daemon/program.ts'),
}
