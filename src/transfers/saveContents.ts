import { saveFile } from '../files/attachmentFiles.ts'
import type { SavedFile } from '../store/cards/attachments.ts'
import type { KnownAttachment } from './attachmentParts.ts'
import type { Document } from './document.ts'
import type { RecordIndex } from './recordIndex.ts'

const filesAtOnce = 8

/**
 * Writes the attachments of a checked document to files, which do not belong to an attachment yet. A later sweep removes the files that a
 * crash leaves. Small files are written concurrently, because each write waits for the disk.
 * @throws Problem DISK_FULL; `files` names those that are written
 */
export async function saveContents(
  folder: string,
  document: Document,
  known: RecordIndex,
  files: Map<number, SavedFile>,
): Promise<void> {
  const attachments = known.all<KnownAttachment>('attachments')
  const saving = new Set<Promise<void>>()
  const save = (id: number, bytes: AsyncIterable<Buffer>): Promise<void> => {
    const task = saveFile(folder, bytes, attachments.get(id)!.filename)
      .then(file => {
        files.set(id, file)
      })
      .finally(() => saving.delete(task))
    saving.add(task)
    task.catch(() => {
      /* The promise is awaited below. */
    })
    return task
  }
  try {
    for (const [id, { size }] of attachments) if (size === 0) await save(id, pieces())
    const records = new Pieces(document)
    for (let first = await records.next(); first; first = await records.next()) {
      if (await records.follows(first.id)) await save(first.id, records.rest(first))
      else void save(first.id, pieces(first.bytes))
      if (saving.size >= filesAtOnce) await Promise.race(saving)
    }
    await Promise.all(saving)
  } finally {
    await Promise.allSettled(saving)
  }
}

async function* pieces(...all: Buffer[]): AsyncGenerator<Buffer> {
  yield* all
}

interface Piece {
  id: number
  bytes: Buffer
}

/** The pieces of all attachments in the order of the file. The next piece can be read in advance. */
class Pieces {
  readonly #records: AsyncIterator<{ value: unknown }>
  #ahead: Piece | undefined

  constructor(document: Document) {
    this.#records = document.records('contents')[Symbol.asyncIterator]()
  }

  async next(): Promise<Piece | undefined> {
    const piece = await this.#peek()
    this.#ahead = undefined
    return piece
  }

  /** Whether the next piece is one of the same attachment. */
  async follows(id: number): Promise<boolean> {
    return (await this.#peek())?.id === id
  }

  /** The bytes of a piece and of the following pieces of its attachment. */
  async *rest(first: Piece): AsyncGenerator<Buffer> {
    yield first.bytes
    while (await this.follows(first.id)) yield (await this.next())!.bytes
  }

  async #peek(): Promise<Piece | undefined> {
    if (this.#ahead) return this.#ahead
    const { done, value } = await this.#records.next()
    if (done) return undefined
    const { attachmentId, content } = value.value as { attachmentId: number; content: string }
    return (this.#ahead = { id: attachmentId, bytes: Buffer.from(content, 'base64') })
  }
}
