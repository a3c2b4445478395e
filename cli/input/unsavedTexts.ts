import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describeError } from '../failures/report.ts'
import { Failure, fileReason } from '../failures/failure.ts'
import { escapeControls } from '../output/text.ts'
import { writeNow } from './terminalProgram.ts'

/** A text of the person that the server does not have yet. */
export class UnsavedText {
  readonly #filename: string
  readonly #text: string
  readonly #isTyped: boolean
  #path: string | undefined
  #isDiscarded = false

  /** @param isTyped whether the person has typed the text already; otherwise only its changes are kept */
  constructor(filename: string, text: string, isTyped: boolean) {
    this.#filename = filename
    this.#text = text
    this.#isTyped = isTyped
  }

  /** The file with the text, which only this account can read. Writes the file at the first call. */
  get path(): string {
    if (this.#path !== undefined) return this.#path
    const path = join(mkdtempSync(join(tmpdir(), 'board-edit-')), this.#filename)
    writeFileSync(path, this.#text, { mode: 0o600 })
    return (this.#path = path)
  }

  /** The current text, read from the file if there is one. */
  get text(): string {
    return this.#path === undefined ? this.#text : readFileSync(this.#path, 'utf8')
  }

  /** Whether content would be lost if the text were discarded. Files that an ended editor left behind count as content. */
  get isNeeded(): boolean {
    if (this.#isDiscarded) return false
    if (this.#isTyped && this.#text.trim() !== '') return true
    if (this.#path === undefined) return false
    try {
      return readdirSync(dirname(this.#path)).length > 1 || this.text !== this.#text
    } catch {
      return false
    }
  }

  discard(): void {
    this.#isDiscarded = true
    if (this.#path !== undefined) rmSync(dirname(this.#path), { recursive: true, force: true })
  }

  /**
   * Saves the text by `save`, and discards it.
   * @throws Failure as `save` does. Its message names the file with the text.
   */
  async save<T>(save: (text: string) => Promise<T>): Promise<T> {
    const result = await save(this.text).catch((error: unknown) => {
      throw this.failure(error)
    })
    this.discard()
    return result
  }

  /** Returns a failure whose message names the file with the text. Discards unchanged text. */
  failure(error: unknown): Failure {
    const { exit, message, hint, see } = describeError(error)
    if (this.isNeeded) return new Failure(exit, `${message} (your text is saved in ${this.path})`, { hint, see })
    this.discard()
    return new Failure(exit, message, { hint, see, cause: error })
  }
}

/** The texts that a program has not saved yet. */
export class UnsavedTexts {
  readonly #texts = new Set<UnsavedText>()

  add(filename: string, text: string, isTyped: boolean): UnsavedText {
    const added = new UnsavedText(filename, text, isTyped)
    this.#texts.add(added)
    return added
  }

  /** Keeps the texts in files and prints the paths on stderr. Synchronous, so that it works for every kind of exit. */
  saveAll(): void {
    for (const text of this.#texts) {
      this.#texts.delete(text)
      if (text.isNeeded) writeNow(2, whereKept(text))
      else text.discard()
    }
  }
}

function whereKept(text: UnsavedText): string {
  try {
    return `board: your text is saved in ${text.path}\n`
  } catch (error) {
    return `board: your text could not be saved in a file (${fileReason(error)}):\n${escapeControls(text.text, true)}\n`
  }
}
