import type { TranscriptRole } from '../../store/transcripts.ts'
import type { ToolPiece } from '../../views/agents.ts'
import { mostMessageLength, type Addition } from '../acp/parseUpdate.ts'

const mostCallsRemembered = 10_000
const shortestWaitMs = 50
const longestWaitMs = 1000
/** Every event tells its message whole: the longer a message is, the less often it is written while it goes on. */
const lengthPerMs = 16

/** A message that is being told: `next` is what of it waits, `writing` what is being written. It has an id once it has been written to. */
export interface Draft {
  role: TranscriptRole
  callId: string | null
  label: string | undefined
  /** Whether the message of an earlier turn goes on here, if there is one: of a tool call that has not begun in this turn. */
  mayGoOn: boolean
  id: number | undefined
  next: string | ToolPiece | undefined
  writing: string | ToolPiece | undefined
  length: number
  ended: boolean
  dueAt: number
}
export interface Batch {
  messages: Draft[]
  usage?: Addition & { kind: 'usage' }
  commands?: Addition & { kind: 'commands' }
}

/** What of one session's transcript is not written yet. Chunks in a row of one role are one message, and so is a tool call with all its updates. */
export class Drafts {
  readonly #waiting = new Set<Draft>()
  #waitingLength = 0
  #text: Draft | undefined
  #plan: Draft | undefined
  readonly #calls = new Map<string, Draft>()
  #usage: Batch['usage']
  #commands: Batch['commands']

  get isEmpty(): boolean {
    return this.#waiting.size === 0 && !this.#usage && !this.#commands
  }
  /** How many messages wait, and how long what waits of them is. */
  get waiting(): number {
    return this.#waiting.size
  }
  get waitingLength(): number {
    return this.#waitingLength
  }

  add(addition: Addition): void {
    switch (addition.kind) {
      case 'text':
        return this.#addText(addition)
      case 'plan':
        return this.#addPlan(addition.text)
      case 'tool':
        return this.#addCall(addition)
      case 'usage':
        this.#usage = addition
        return
      case 'commands':
        this.#commands = addition
    }
  }

  /** Ends all messages, as at the end of a turn: what comes later is another message. */
  endAll(): void {
    this.#endText()
    if (this.#plan) this.#plan.ended = true
    this.#plan = undefined
    this.#calls.clear()
  }

  /** Hands out what has to be written now, in the order in which it was said. */
  take(nowMs: number, everything: boolean): Batch {
    const messages = [...this.#waiting].filter(
      draft => everything || draft.ended || draft.id === undefined || draft.dueAt <= nowMs,
    )
    for (const draft of messages) {
      this.#waiting.delete(draft)
      this.#waitingLength -= lengthOf(draft.next)
      draft.writing = draft.next
      draft.next = undefined
      draft.dueAt = nowMs + Math.min(longestWaitMs, Math.max(shortestWaitMs, draft.length / lengthPerMs))
    }
    const batch = { messages, usage: this.#usage, commands: this.#commands }
    this.#usage = this.#commands = undefined
    return batch
  }

  forget(): void {
    this.endAll()
    this.#waiting.clear()
    this.#waitingLength = 0
    this.#usage = this.#commands = undefined
  }

  #addText({ role, text, label }: Addition & { kind: 'text' }): void {
    if (this.#text && (this.#text.role !== role || this.#text.label !== label)) this.#endText()
    for (let rest = text; rest !== '';) {
      if (this.#text && this.#text.length >= mostMessageLength) this.#endText()
      this.#text ??= newDraft(role, { label })
      const [part, later] = splitAt(rest, mostMessageLength - this.#text.length)
      this.#change(this.#text, ((this.#text.next ?? '') as string) + part)
      this.#text.length += part.length
      rest = later
    }
  }

  #addPlan(text: string): void {
    this.#endText()
    this.#plan ??= newDraft('plan')
    this.#plan.length = text.length
    this.#change(this.#plan, text)
  }

  #addCall({ callId, begins, piece }: Addition & { kind: 'tool' }): void {
    this.#endText()
    const known = this.#calls.get(callId)
    const draft = known && !(begins && known.ended) ? known : newDraft('tool', { callId, mayGoOn: !begins })
    this.#calls.delete(callId)
    this.#calls.set(callId, draft)
    if (this.#calls.size > mostCallsRemembered) this.#calls.delete(this.#calls.keys().next().value!)
    this.#change(draft, { ...(draft.next as ToolPiece | undefined), ...piece })
    draft.length = lengthOf(draft.next)
    if (piece.status === 'completed' || piece.status === 'failed') draft.ended = true
  }

  #change(draft: Draft, next: string | ToolPiece): void {
    this.#waitingLength += lengthOf(next) - lengthOf(draft.next)
    draft.next = next
    this.#waiting.add(draft)
  }

  #endText(): void {
    if (this.#text) this.#text.ended = true
    this.#text = undefined
  }
}

const newDraft = (
  role: TranscriptRole,
  { callId = null, label, mayGoOn = false }: Partial<Pick<Draft, 'callId' | 'label' | 'mayGoOn'>> = {},
): Draft => ({
  role,
  callId,
  label,
  mayGoOn,
  id: undefined,
  next: undefined,
  writing: undefined,
  length: 0,
  ended: false,
  dueAt: 0,
})

/** About how much room a piece takes. */
function lengthOf(piece: Draft['next']): number {
  if (piece === undefined) return 0
  return typeof piece === 'string' ? piece.length : JSON.stringify(piece).length
}

/** Splits a text, but no surrogate pair. */
function splitAt(text: string, at: number): [string, string] {
  if (text.length <= at) return [text, '']
  const end = at > 1 && /[\uD800-\uDBFF]/.test(text[at - 1]!) ? at - 1 : at
  return [text.slice(0, end), text.slice(end)]
}
