import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const inMemory = '/dev/shm'
const minFreeBytes = 4 * 1024 ** 3
/** Longer than any test takes: the pid of a run in another container is not visible. */
const minIdleMs = 60 * 60_000

/** Creates one folder for all tests, and removes it with all leftovers. It is in memory if possible: on a shared disk, every commit of a server waits for other programs. */
export default (): (() => void) => {
  for (const place of new Set([inMemory, tmpdir()])) sweep(place)
  const onDisk = process.env.BOARD_TEST_ON_DISK === '1'
  const folder = (!onDisk && hasRoom() && tryFolder(inMemory)) || newFolder(tmpdir())
  process.env.TMPDIR = folder
  return () => {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Creates a folder whose name contains the pid of its run. */
const newFolder = (place: string): string => mkdtempSync(join(place, `board-tests-${process.pid}-`))

/** Removes the folders of killed runs. A running one creates folders in its own all the time. */
function sweep(place: string): void {
  for (const name of namesIn(place)) {
    const owner = /^board-tests-(?:(\d+)-)?\w{6}$/.exec(name)
    const path = join(place, name)
    try {
      if (owner && !(owner[1] && isAlive(Number(owner[1]))) && Date.now() - statSync(path).mtimeMs > minIdleMs)
        rmSync(path, { recursive: true, force: true })
    } catch {
      /* The folder belongs to another account, or another run has removed it. */
    }
  }
}

function namesIn(place: string): string[] {
  try {
    return readdirSync(place)
  } catch {
    return []
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(inMemory)
    return bavail * bsize >= minFreeBytes
  } catch {
    return false
  }
}

/** A new folder there, or undefined if files cannot be created there, or programs cannot run. */
function tryFolder(place: string): string | undefined {
  let folder: string | undefined
  try {
    folder = newFolder(place)
    const program = join(folder, 'program')
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 })
    execFileSync(program)
    return folder
  } catch {
    if (folder) rmSync(folder, { recursive: true, force: true })
    return undefined
  }
}
