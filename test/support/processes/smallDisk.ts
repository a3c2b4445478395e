import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { reportSkipped } from '../run/reportSkipped.ts'

/** Mounts a separate disk, in memory, on an existing folder. `size` is in the format of `mount`. */
export const mountDisk = (folder: string, size: string): void =>
  void execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'none', folder], { stdio: 'pipe' })

/** Makes a file or folder read-only, also for root. `unmountDisk` reverts it. */
export function mountReadOnly(path: string): void {
  execFileSync('mount', ['--bind', path, path])
  execFileSync('mount', ['-o', 'remount,ro,bind', path])
}

export const resizeDisk = (folder: string, size: string): void =>
  void execFileSync('mount', ['-o', `remount,size=${size}`, folder])

/** Unmounts the disk of a folder, if it has one. */
export function unmountDisk(folder: string): void {
  if (readFileSync('/proc/mounts', 'utf8').includes(` ${folder} `)) execFileSync('umount', ['--lazy', folder])
}

/** Fills the disk of a folder completely. @returns a function that frees the space */
export function fillDisk(folder: string): () => void {
  const ballast = join(folder, 'ballast')
  try {
    for (;;) writeFileSync(ballast, Buffer.alloc(64 * 1024), { flag: 'a' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
  return () => rmSync(ballast)
}

/** Whether this account can mount a disk. */
export const mayMount: boolean =
  process.platform === 'linux' &&
  (() => {
    const folder = mkdtempSync(join(tmpdir(), 'board-mount-'))
    try {
      mountDisk(folder, '1m')
      unmountDisk(folder)
      return true
    } catch {
      return false
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })()
if (!mayMount) reportSkipped('Tests with their own disk', 'this account cannot mount a disk')
