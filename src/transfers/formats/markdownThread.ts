import { createThreadProgram } from '../../process/thread.ts'
import { importError } from '../importErrors.ts'
import type { Draft } from './draft.ts'

/** A parser takes about a second for a megabyte of tasks. */
const maxMs = 30_000
const maxOldGenerationSizeMb = 768

const programPath = import.meta.url.endsWith('.ts') ? '../../../dist/markdown.cjs' : 'markdown.cjs'
const program = createThreadProgram(new URL(programPath, import.meta.url), import.meta.url)

export interface MarkdownFile {
  path: string
  /** The name for the source of its tasks. */
  filename: string
}

/** Reads the threads' program (markdownProgram.ts, built). */
export const loadMarkdownReader = program.load

/**
 * Reads a file of task lists on a separate thread, because parsing a large one takes seconds.
 * @throws Problem INVALID_IMPORT, or the signal's reason
 */
export async function readMarkdownFile(file: MarkdownFile, signal: AbortSignal): Promise<Draft> {
  const timeout = AbortSignal.timeout(maxMs)
  try {
    return await program.run<Draft>(
      { ...file },
      { signal: AbortSignal.any([signal, timeout]), resourceLimits: { maxOldGenerationSizeMb } },
    )
  } catch (error) {
    if (timeout.aborted || (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY')
      throw importError('', 'the file is too complex to read: split it, and import its parts')
    throw error
  }
}
