import { readFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { encodeError } from '../../process/encodedError.ts'
import type { ThreadMessage } from '../../process/thread.ts'
import { readMarkdown } from './markdown.ts'
import type { MarkdownFile } from './markdownThread.ts'

/** The program of a thread that reads one file of task lists (markdownThread.ts). */
function read({ path, filename }: MarkdownFile): ThreadMessage {
  try {
    return { result: readMarkdown(readFileSync(path, 'utf8'), filename) }
  } catch (error) {
    return { failure: encodeError(error) }
  }
}
parentPort!.postMessage(read(workerData as MarkdownFile), [])
