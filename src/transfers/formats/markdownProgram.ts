import { readFile } from 'node:fs/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { encodeError } from '../../process/encodedError.ts'
import type { ThreadMessage } from '../../process/thread.ts'
import { readMarkdown } from './markdown.ts'
import type { MarkdownFile } from './markdownThread.ts'

/** The program of a thread that reads one file of task lists (markdownThread.ts). */
async function read({ path, filename }: MarkdownFile): Promise<ThreadMessage> {
  try {
    return { result: readMarkdown(await readFile(path, 'utf8'), filename) }
  } catch (error) {
    return { failure: encodeError(error) }
  }
}
void read(workerData as MarkdownFile).then(message => parentPort!.postMessage(message, []))
