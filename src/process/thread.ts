import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Worker, type ResourceLimits, type Transferable } from 'node:worker_threads'
import { decodeError, type EncodedError } from './encodedError.ts'

/** A message of a thread: its progress, or finally its result or failure. */
export type ThreadMessage<Progress = unknown> = { progress: Progress } | { result: unknown } | { failure: EncodedError }

export interface ThreadProgram {
  /** Reads the program. Call it before the program is needed: a newer version can replace the file later. */
  load(): Promise<string>
  /**
   * Runs the program with `data` as its `workerData`.
   * @throws the program's failure, or the signal's reason
   */
  run<Result, Progress = never>(
    data: Record<string, unknown>,
    options?: {
      signal?: AbortSignal
      onProgress?: (progress: Progress) => void
      transferList?: Transferable[]
      resourceLimits?: ResourceLimits
    },
  ): Promise<Result>
}

/** A program in dist/, by its file's URL, that runs on threads. `moduleUrl` is the base for the modules that it requires. */
export function createThreadProgram(file: URL, moduleUrl: string): ThreadProgram {
  let program: Promise<string> | undefined
  const load = () => (program ??= readFile(fileURLToPath(file), 'utf8'))
  return {
    load,
    async run<Result, Progress>(
      data: Record<string, unknown>,
      { signal, onProgress, transferList = [], resourceLimits }: Parameters<ThreadProgram['run']>[1] = {},
    ) {
      const text = await load()
      signal?.throwIfAborted()
      const worker = new Worker(text, {
        eval: true,
        execArgv: [],
        workerData: { ...data, moduleUrl },
        transferList,
        resourceLimits,
      })
      const abort = () => void worker.terminate()
      signal?.addEventListener('abort', abort, { once: true })
      let ended: Exclude<ThreadMessage, { progress: unknown }> | undefined
      worker.on('message', (message: ThreadMessage<Progress>) => {
        if ('progress' in message) return onProgress?.(message.progress as never)
        ended = message
        // Do not wait for other work of the thread, such as the check of a database.
        if ('failure' in message) void worker.terminate()
      })
      return new Promise<Result>((resolve, reject) => {
        worker.once('error', reject)
        // The files of the thread are closed only after its exit.
        worker.once('exit', code => {
          signal?.removeEventListener('abort', abort)
          if (ended && 'result' in ended) resolve(ended.result as Result)
          else if (signal?.aborted) reject(signal.reason)
          else reject(ended ? decodeError(ended.failure) : new Error(`A thread ended with ${code}.`))
        })
      })
    },
  }
}
