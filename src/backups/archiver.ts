import type { MessagePort } from 'node:worker_threads'
import { createThreadProgram } from '../process/thread.ts'
import type { Pack, Packed } from './packArchive.ts'
import type { Place, Verified } from './examineArchive.ts'

/** What is done with archives on threads of their own, so that the server keeps answering and both cores are used. */
export interface Tasks {
  pack: { options: Pack; result: Packed }
  verify: { options: Verify; result: Verified }
}
export interface Verify {
  path: string
  place: Place
  /** Tells how the archive grows, where it is still being written. */
  growth?: MessagePort
  tellsProgress?: boolean
}

const programPath = import.meta.url.endsWith('.ts') ? '../../dist/archiver.cjs' : 'archiver.cjs'
const program = createThreadProgram(new URL(programPath, import.meta.url), import.meta.url)

/** Reads the threads' program (archiverProgram.ts, built). */
export const loadArchiver = program.load

/**
 * Looks through an archive (verifying.ts has the rules) on a thread of its own.
 * @throws Problem INVALID_BACKUP, DISK_FULL, or the signal's reason
 */
export const verifyArchive = (
  path: string,
  place: Place,
  { signal, onProgress }: { signal?: AbortSignal; onProgress?: (bytes: number) => void } = {},
): Promise<Verified> =>
  runTask('verify', { path, place, tellsProgress: onProgress !== undefined }, { signal, onProgress })

/**
 * Does a task with an archive on a thread of its own.
 * @throws what it failed with, or the signal's reason
 */
export const runTask = <T extends keyof Tasks>(
  task: T,
  options: Tasks[T]['options'],
  { signal, onProgress }: { signal?: AbortSignal; onProgress?: (bytes: number) => void } = {},
): Promise<Tasks[T]['result']> =>
  program.run(
    { task, options },
    { signal, onProgress, transferList: 'growth' in options && options.growth ? [options.growth] : [] },
  )
