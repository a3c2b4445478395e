/** The server's program, as `bin/board.js` hands it to the command line: what a `ServerProgram` has, by name. */
export { runServe } from './main.ts'
export { findFile, findNewest, restoreFile, verifyFile } from '../src/backups/local.ts'
export { moveFromServer, moveToServer } from '../src/backups/moving.ts'
export { findDamage } from '../src/store/copies.ts'
