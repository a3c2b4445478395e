/**
 * The server's program for the command line, as `bin/board.js` passes it: the members of a `ServerProgram` by name, and the input
 * of its loader.
 */
export { runServe } from './main.ts'
export { findFile, findNewest, restoreFile, verifyFile } from '../src/backups/local.ts'
export { moveFromServer, moveToServer } from '../src/backups/moveDatabase.ts'
export { findDamage } from '../src/store/engine/databaseCopy.ts'
export { findAddingRepository } from '../src/git/addingRepository.ts'
