/** What commands do with a data folder by themselves, without a server. It is loaded when one of them is called. */
export { findDamage } from '../src/store/copies.ts'
export { moveFromServer, moveToServer } from '../src/backups/moving.ts'
export { findFile, findNewest, restoreFile, verifyFile } from '../src/backups/local.ts'
