import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const inMemory = '/dev/shm'
const leastFreeBytes = 4 * 1024 ** 3

/** Gives all tests one folder for theirs, and removes it with all that they leave. It is in memory where it can be: on a disk that others use too, every commit of a server waits for theirs. */
export default (): (() => void) => {
  const folder = (hasRoom() && scratch(inMemory)) || mkdtempSync(join(tmpdir(), 'board-tests-'))
  process.env.TMPDIR = folder
  return () => { rmSync(folder, { recursive: true, force: true, maxRetries: 5 }) }
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(inMemory)
    return bavail * bsize >= leastFreeBytes
  } catch {
    return false
  }
}

/** A new folder there, or undefined where no files can be made, or no programs run. */
function scratch(place: string): string | undefined {
  let folder: string | undefined
  try {
    folder = mkdtempSync(join(place, 'board-tests-'))
    const program = join(folder, 'program')
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 })
    execFileSync(program)
    return folder
  } catch {
    if (folder) rmSync(folder, { recursive: true, force: true })
    return undefined
  }
}
