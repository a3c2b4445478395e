import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes a folder, and those above it that are missing, for this account only. One level at a time: Node's own recursive way
 * never ends where a file system refuses new folders with ENOENT, as /proc does.
 */
export function makePrivateFolder(path: string): void {
  makeMissing(path)
  chmodSync(path, 0o700)
}

function makeMissing(path: string): void {
  if (existsSync(path)) return
  makeMissing(dirname(path))
  mkdirSync(path, { mode: 0o700 })
}
