import type { TranscriptRole } from '../../store/agents/transcripts.ts'
import type { ToolPiece } from '../../views/agents.ts'
import { maxMessageLength, type ParsedUpdate } from '../acp/parseUpdate.ts'

const maxOpenCalls = 10_000
const minWriteIntervalMs = 50
const maxWriteIntervalMs = 1000
/** Each event carries its whole message, so the write interval grows by 1 ms per 16 characters. */
const charsPerIntervalMs = 16

/**
 * A message that still grows: `unwritten` waits to be written, `writing` is being written. It has an ID after its first
 * write.
 */
export interface PendingMessage {
  role: TranscriptRole
  callId: string | null
  label: string | undefined
  /** A tool call that did not begin in this turn: it continues the message of an earlier turn, if there is one. */
  mayContinue: boolean
  id: number | undefined
  unwritten: string | ToolPiece | undefined
  writing: string | ToolPiece | undefined
  length: number
  /** The length of the command's output. */
  terminalLength: number
  ended: boolean
  dueAt: number
}
export interface PendingBatch {
  messages: PendingMessage[]
  usage?: ParsedUpdate & { kind: 'usage' }
  commands?: ParsedUpdate & { kind: 'commands' }
}

/** The unwritten part of one session's transcript. Consecutive chunks of one role are one message; so is a tool call with its updates. */
export class PendingMessages {
  readonly #unwritten = new Set<PendingMessage>()
  #unwrittenLength = 0
  #text: PendingMessage | undefined
  #plan: PendingMessage | undefined
  readonly #calls = new Map<string, PendingMessage>()
  #usage: PendingBatch['usage']
  #commands: PendingBatch['commands']

  get isEmpty(): boolean {
    return this.#unwritten.size === 0 && !this.#usage && !this.#commands
  }
  /** The number of messages with unwritten text. */
  get count(): number {
    return this.#unwritten.size
  }
  /** The length of all unwritten text. */
  get length(): number {
    return this.#unwrittenLength
  }

  add(update: ParsedUpdate): void {
    switch (update.kind) {
      case 'text':
        return this.#addText(update)
      case 'plan':
        return this.#addPlan(update.text)
      case 'tool':
        return this.#addCall(update)
      case 'usage':
        this.#usage = update
        return
      case 'commands':
        this.#commands = update
    }
  }

  /** Ends all messages. Later chunks begin new messages. */
  endAll(): void {
    this.#endText()
    if (this.#plan) this.#plan.ended = true
    this.#plan = undefined
    this.#calls.clear()
  }

  /** Removes and returns the due messages, oldest first. */
  take(nowMs: number, everything: boolean): PendingBatch {
    const messages = [...this.#unwritten].filter(
      message => everything || message.ended || message.id === undefined || message.dueAt <= nowMs,
    )
    for (const message of messages) {
      this.#unwritten.delete(message)
      this.#unwrittenLength -= lengthOf(message.unwritten)
      message.writing = message.unwritten
      message.unwritten = undefined
      message.dueAt =
        nowMs + Math.min(maxWriteIntervalMs, Math.max(minWriteIntervalMs, message.length / charsPerIntervalMs))
    }
    const batch = { messages, usage: this.#usage, commands: this.#commands }
    this.#usage = this.#commands = undefined
    return batch
  }

  clear(): void {
    this.endAll()
    this.#unwritten.clear()
    this.#unwrittenLength = 0
    this.#usage = this.#commands = undefined
  }

  #addText({ role, text, label }: ParsedUpdate & { kind: 'text' }): void {
    if (this.#text && (this.#text.role !== role || this.#text.label !== label)) this.#endText()
    for (let rest = text; rest !== '';) {
      if (this.#text && this.#text.length >= maxMessageLength) this.#endText()
      this.#text ??= newMessage(role, { label })
      const [part, later] = splitAt(rest, maxMessageLength - this.#text.length)
      this.#change(this.#text, ((this.#text.unwritten ?? '') as string) + part)
      this.#text.length += part.length
      rest = later
    }
  }

  #addPlan(text: string): void {
    this.#endText()
    this.#plan ??= newMessage('plan')
    this.#plan.length = text.length
    this.#change(this.#plan, text)
  }

  #addCall({ callId, begins, piece }: ParsedUpdate & { kind: 'tool' }): void {
    this.#endText()
    const known = this.#calls.get(callId)
    const message: PendingMessage =
      known && !(begins && known.ended) ? known : newMessage('tool', { callId, mayContinue: !begins })
    const before = message.unwritten as ToolPiece | undefined
    this.#calls.delete(callId)
    this.#calls.set(callId, message)
    if (this.#calls.size > maxOpenCalls) this.#calls.delete(this.#calls.keys().next().value!)
    this.#change(message, { ...before, ...piece, ...this.#terminalOf(message, before, piece) })
    message.length = lengthOf(message.unwritten) + message.terminalLength
    if (piece.status === 'completed' || piece.status === 'failed') message.ended = true
  }

  /** Appends a command's output, up to the maximum length of a message. */
  #terminalOf(message: PendingMessage, before: ToolPiece | undefined, { terminal }: ToolPiece): ToolPiece {
    if (terminal === undefined) return {}
    const left = maxMessageLength - message.terminalLength
    message.terminalLength += terminal.length
    const more =
      terminal.length <= left ? terminal : left > 0 ? `${terminal.slice(0, left)}\n[the rest was omitted]` : ''
    return { terminal: (before?.terminal ?? '') + more }
  }

  #change(message: PendingMessage, next: string | ToolPiece): void {
    this.#unwrittenLength += lengthOf(next) - lengthOf(message.unwritten)
    message.unwritten = next
    this.#unwritten.add(message)
  }

  #endText(): void {
    if (this.#text) this.#text.ended = true
    this.#text = undefined
  }
}

const newMessage = (
  role: TranscriptRole,
  { callId = null, label, mayContinue = false }: Partial<Pick<PendingMessage, 'callId' | 'label' | 'mayContinue'>> = {},
): PendingMessage => ({
  role,
  callId,
  label,
  mayContinue,
  id: undefined,
  unwritten: undefined,
  writing: undefined,
  length: 0,
  terminalLength: 0,
  ended: false,
  dueAt: 0,
})

/** The approximate size of a piece. */
function lengthOf(piece: PendingMessage['unwritten']): number {
  if (piece === undefined) return 0
  return typeof piece === 'string' ? piece.length : JSON.stringify(piece).length
}

/** Splits a text without cutting a surrogate pair. */
function splitAt(text: string, at: number): [string, string] {
  if (text.length <= at) return [text, '']
  const end = at > 1 && /[\uD800-\uDBFF]/.test(text[at - 1]!) ? at - 1 : at
  return [text.slice(0, end), text.slice(end)]
}
