import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Worker, type MessagePort } from 'node:worker_threads'
import { decodeError, type EncodedError } from '../process/encodedError.ts'
import type { Pack, Packed } from './packing.ts'
import type { Place, Verified } from './verifying.ts'

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

/** A message of a thread: its progress, or finally its result or failure. */
export type Said = { progress: number } | { result: unknown } | { failure: EncodedError }

const programPath = import.meta.url.endsWith('.ts') ? '../../dist/archiver.cjs' : 'archiver.cjs'
let program: Promise<string> | undefined

/** Reads the threads' program (archiverProgram.ts, built). A server does before it needs it: a newer version may have taken the place of this one's files then. */
export const loadArchiver = (): Promise<string> =>
  (program ??= readFile(fileURLToPath(new URL(programPath, import.meta.url)), 'utf8'))

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
export async function runTask<T extends keyof Tasks>(
  task: T,
  options: Tasks[T]['options'],
  { signal, onProgress }: { signal?: AbortSignal; onProgress?: (bytes: number) => void } = {},
): Promise<Tasks[T]['result']> {
  const text = await loadArchiver()
  signal?.throwIfAborted()
  const worker = new Worker(text, {
    eval: true,
    execArgv: [],
    workerData: { task, options, moduleUrl: import.meta.url },
    transferList: 'growth' in options && options.growth ? [options.growth] : [],
  })
  const abort = () => void worker.terminate()
  signal?.addEventListener('abort', abort, { once: true })
  let ended: Exclude<Said, { progress: number }> | undefined
  worker.on('message', (said: Said) => {
    if ('progress' in said) return onProgress?.(said.progress)
    ended = said
    // What else it had begun, such as looking through a database, is not waited for.
    if ('failure' in said) void worker.terminate()
  })
  return new Promise((resolve, reject) => {
    worker.once('error', reject)
    // Only then it has let go of all files.
    worker.once('exit', code => {
      signal?.removeEventListener('abort', abort)
      if (ended && 'result' in ended) resolve(ended.result as Tasks[T]['result'])
      else if (signal?.aborted) reject(signal.reason)
      else reject(ended ? decodeError(ended.failure) : new Error(`The thread of an archive ended with ${code}.`))
    })
  })
}
