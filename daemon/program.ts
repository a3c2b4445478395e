/** The server's program, as `bin/board.js` hands it to the command line: what a `ServerProgram` has, by name, and what its loader takes. */
export { runServe } from './main.ts'
export { findFile, findNewest, restoreFile, verifyFile } from '../src/backups/local.ts'
export { moveFromServer, moveToServer } from '../src/backups/moveDatabase.ts'
export { findDamage } from '../src/store/copies.ts'
export { findAddingRepository } from '../src/git/addingRepository.ts'
