import type { MessagePort } from 'node:worker_threads'
import { createThreadProgram } from '../process/thread.ts'
import type { Pack, Packed } from './packArchive.ts'
import type { Place, Verified } from './examineArchive.ts'

/** The archive tasks that run on separate threads, so that the server keeps answering and both cores are used. */
export interface Tasks {
  pack: { options: Pack; result: Packed }
  verify: { options: Verify; result: Verified }
}
export interface Verify {
  path: string
  place: Place
  /** Reports the growth of the archive while it is still being written. */
  growth?: MessagePort
  tellsProgress?: boolean
}

const programPath = import.meta.url.endsWith('.ts') ? '../../dist/archiver.cjs' : 'archiver.cjs'
const program = createThreadProgram(new URL(programPath, import.meta.url), import.meta.url)

/** Reads the threads' program (archiverProgram.ts, built). */
export const loadArchiver = program.load

/**
 * Examines an archive (examineArchive.ts has the rules) on a separate thread.
 * @throws Problem INVALID_BACKUP, DISK_FULL, or the signal's reason
 */
export const verifyArchive = (
  path: string,
  place: Place,
  { signal, onProgress }: { signal?: AbortSignal; onProgress?: (bytes: number) => void } = {},
): Promise<Verified> =>
  runTask('verify', { path, place, tellsProgress: onProgress !== undefined }, { signal, onProgress })

/**
 * Runs a task with an archive on a separate thread.
 * @throws the error of the task, or the signal's reason
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
