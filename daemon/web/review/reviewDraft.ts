import type { Detail } from '../../../src/contract/errors.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { reasonOf } from '../app/reasons.ts'
import { client } from '../app/session.ts'
import { Store } from '../app/store.ts'

type Draft = Output<Contract['reviews']['getDraft']>
/** Lines of one side of a file. */
export interface FileLines {
  path: string
  side: 'old' | 'new'
  startLine: number | null
  line: number
}
export interface Lines extends FileLines {
  /** Empty for the project's home. */
  repository: string
}
export type DraftComment = Draft['comments'][number]
/** The open comment. `replaces` is the draft comment that it edits. */
export interface OpenForm extends Lines {
  body: string
  replaces?: DraftComment
}
export interface DraftState {
  body: string
  comments: readonly DraftComment[]
  form?: OpenForm
  saveState: 'saved' | 'changed' | 'failed'
  /** Why saving failed. */
  reason?: string
  /** The conflicting version that another window has saved. */
  other?: Draft
  /** The server's errors, by comment. */
  refused: ReadonlyMap<DraftComment, string>
}

const delayMs = 400

/**
 * The person's own draft of a review. It is saved on the server 400 ms after the last change. Until then, it is kept in
 * sessionStorage together with the open comment. A version that another window has saved is not overwritten.
 */
export class ReviewDraft {
  readonly state = new Store<DraftState>({ body: '', comments: [], saveState: 'saved', refused: new Map() })
  readonly #place: { projectId: string; cardId: string }
  readonly #key: string
  /** The version of the server's draft that this one is based on. */
  #updatedAt: string | null = null
  #timer: ReturnType<typeof setTimeout> | undefined
  #saving: Promise<void> = Promise.resolve()

  constructor(place: { projectId: string; cardId: string }) {
    this.#place = place
    this.#key = `board review ${place.projectId} ${place.cardId}`
  }

  /** Reads the draft. @returns a function that ends it and saves unsaved changes */
  start(): () => void {
    void this.#read()
    const refresh = () => {
      if (!document.hidden && this.state.get().saveState === 'saved') void this.#refresh()
    }
    document.addEventListener('visibilitychange', refresh)
    addEventListener('focus', refresh)
    return () => {
      document.removeEventListener('visibilitychange', refresh)
      removeEventListener('focus', refresh)
      if (this.#timer !== undefined) void this.saveNow().catch(() => undefined)
    }
  }

  setBody(body: string): void {
    this.#change({ body })
  }

  /** Opens a comment form. A comment that is open on other lines is added to the draft first. */
  open(lines: Lines, replaces?: DraftComment): void {
    this.add()
    const { repository, path, side, startLine, line } = lines
    this.#set({ form: { repository, path, side, startLine, line, body: replaces?.body ?? '', replaces } })
  }

  /** Stores the text of the form without rendering it again. */
  type(body: string): void {
    const { form } = this.state.get()
    if (!form) return
    form.body = body
    this.#saveInTab()
  }

  /** Adds the open comment to the draft. */
  add(): void {
    const { form, comments } = this.state.get()
    if (!form) return
    const { replaces, ...comment } = form
    if (comment.body.trim() === '') return this.close()
    const kept = replaces && comments.includes(replaces)
    this.#set({ form: undefined })
    this.#change({
      comments: kept ? comments.map(each => (each === replaces ? comment : each)) : [...comments, comment],
    })
  }

  close(): void {
    this.#set({ form: undefined })
    this.#saveInTab()
  }

  remove(comment: DraftComment): void {
    this.#change({ comments: this.state.get().comments.filter(each => each !== comment) })
  }

  /** Resolves a conflict by the other window's version, merged with this one if `isMerged`. */
  takeOther(isMerged: boolean): void {
    const { other, body, comments } = this.state.get()
    if (!other) return
    this.#updatedAt = other.updatedAt
    this.#set({ other: undefined, saveState: 'saved', reason: undefined })
    if (!isMerged) {
      this.#set({ body: other.body, comments: other.comments })
      return this.#saveInTab()
    }
    const texts = new Set(other.comments.map(each => JSON.stringify(each)))
    this.#change({
      body: other.body.includes(body) ? other.body : [other.body, body].filter(Boolean).join('\n\n'),
      comments: [...other.comments, ...comments.filter(each => !texts.has(JSON.stringify(each)))],
    })
  }

  /** Saves now. @throws Error if another window has changed the draft */
  async saveNow(): Promise<void> {
    this.add()
    if (this.#timer !== undefined) this.#saveSoon(0)
    await this.#saving
    if (this.state.get().saveState === 'saved') await this.#refresh()
    const { other, saveState, reason } = this.state.get()
    if (other) throw new Error('Your draft was changed in another window. Select above which draft to use.')
    if (saveState === 'failed') throw new Error(reason)
  }

  /** Shows the server's errors at the comments that they are about. */
  showErrors(details: readonly Detail[]): void {
    const { comments } = this.state.get()
    const refused = new Map<DraftComment, string>()
    for (const { path, message } of details) {
      const comment = comments[Number(/^comments\.(\d+)/.exec(path)?.[1] ?? -1)]
      if (comment) refused.set(comment, message)
    }
    this.#set({ refused })
  }

  /** The draft is a review now. */
  clearSent(): void {
    this.#updatedAt = null
    this.#set({ body: '', comments: [], saveState: 'saved', refused: new Map() })
    this.#saveInTab()
  }

  async #read(): Promise<void> {
    const draft = await client.reviews.getDraft(this.#place).catch(() => undefined)
    if (!draft) return
    this.#updatedAt = draft.updatedAt
    const text = sessionStorage.getItem(this.#key)
    const here = text === null ? undefined : (JSON.parse(text) as Kept)
    // A form that was opened before the response arrived stays open.
    this.#set({ body: draft.body, comments: draft.comments, form: this.state.get().form ?? here?.form })
    if (!here?.isChanged) return
    this.#set({ body: here.body, comments: here.comments, saveState: 'changed' })
    if (here.updatedAt === draft.updatedAt) this.#saveSoon(0)
    else this.#set({ other: draft })
  }

  /** Reads the draft again. A version of another window replaces this one if it has no changes. Otherwise, it is a conflict. */
  async #refresh(): Promise<void> {
    const draft = await client.reviews.getDraft(this.#place).catch(() => undefined)
    if (!draft || draft.updatedAt === this.#updatedAt) return
    if (this.state.get().saveState !== 'saved') return this.#set({ other: draft })
    this.#updatedAt = draft.updatedAt
    this.#set({ body: draft.body, comments: draft.comments })
  }

  #set(change: Partial<DraftState>): void {
    this.state.update(now => ({ ...now, ...change }))
  }

  #change(change: Partial<DraftState>): void {
    this.#set({ ...change, saveState: 'changed', refused: new Map() })
    this.#saveInTab()
    if (!this.state.get().other) this.#saveSoon(delayMs)
  }

  #saveSoon(inMs: number): void {
    clearTimeout(this.#timer)
    const save = () => {
      this.#timer = undefined
      this.#saving = this.#saving.then(() => this.#save())
    }
    if (inMs === 0) save()
    else this.#timer = setTimeout(save, inMs)
  }

  async #save(): Promise<void> {
    const { body, comments, other } = this.state.get()
    if (other) return
    try {
      const there = await client.reviews.getDraft(this.#place)
      if (there.updatedAt !== this.#updatedAt) return this.#set({ other: there })
      const kept = await client.reviews.putDraft({ ...this.#place, body, comments: [...comments] })
      this.#updatedAt = kept.updatedAt
      const now = this.state.get()
      if (now.body === body && now.comments === comments) this.#set({ saveState: 'saved', reason: undefined })
      this.#saveInTab()
    } catch (error) {
      this.#set({ saveState: 'failed', reason: reasonOf(error) })
    }
  }

  #saveInTab(): void {
    const { body, comments, form, saveState } = this.state.get()
    const isChanged = saveState !== 'saved'
    if (!isChanged && !form) return sessionStorage.removeItem(this.#key)
    const kept: Kept = { body, comments: [...comments], form, isChanged, updatedAt: this.#updatedAt }
    sessionStorage.setItem(this.#key, JSON.stringify(kept))
  }
}

interface Kept {
  body: string
  comments: DraftComment[]
  form: OpenForm | undefined
  isChanged: boolean
  updatedAt: string | null
}
