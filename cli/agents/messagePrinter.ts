import type { Context } from '../context/context.ts'
import { drawMessage, headOf, messageColumns, type Message } from './messages.ts'
import { write } from '../output/streams.ts'
import { harmless } from '../output/text.ts'

/** Prints messages that still grow: each comes again and again, whole, as it is by then. */
export interface MessagePrinter {
  show(message: Message): Promise<void>
  /** Nothing more comes in a session's messages so far. */
  end(sessionId: string): Promise<void>
  /** Says something on stderr, on a line of its own. */
  say(text: string): void
  /** The messages up to this id need not be read again. Undefined before the first one. */
  readonly since: string | undefined
}

/** On a terminal texts appear as they are told; in a pipe each message is one line, once it is complete. */
export const createPrinter = (context: Context, hides: (message: Message) => boolean): MessagePrinter =>
  context.out.terminal.stdout && !context.out.json && !context.out.quiet
    ? new Teller(context, hides)
    : new Recorder(context, hides)

const hasEnded = ({ tool }: Message): boolean => tool?.status === 'completed' || tool?.status === 'failed'
const isGreater = (id: string, than: string): boolean => Number(id) > Number(than)

/** Writes what is new of each message below what was written before. */
class Teller implements MessagePrinter {
  readonly #context: Context
  readonly #hides: (message: Message) => boolean
  /** Id -> what of the message has been written. */
  readonly #told = new Map<string, { length: number; ended: boolean; plan?: string }>()
  #last: string | undefined
  #current: string | undefined
  #isInLine = false

  constructor(context: Context, hides: (message: Message) => boolean) {
    this.#context = context
    this.#hides = hides
  }

  /** The last message may have grown since. */
  get since(): string | undefined {
    return this.#last === undefined ? undefined : String(Number(this.#last) - 1)
  }

  async show(message: Message): Promise<void> {
    if (this.#last === undefined || isGreater(message.id, this.#last)) this.#last = message.id
    if (this.#hides(message)) return
    const told = this.#told.get(message.id)
    if (message.tool) this.#tellTool(message, told)
    else if (message.role === 'plan') this.#tellPlan(message, told)
    else this.#tellText(message, told?.length)
  }

  async end(): Promise<void> {
    this.#breakLine()
  }

  say(text: string): void {
    this.#breakLine()
    this.#current = undefined
    this.#context.out.done(text)
  }

  #tellTool(message: Message, told: { ended: boolean } | undefined): void {
    if (told && (told.ended || !hasEnded(message))) return
    this.#told.set(message.id, { length: 0, ended: hasEnded(message) })
    this.#begin(message)
  }

  #tellPlan(message: Message, told: { plan?: string } | undefined): void {
    if (told?.plan === message.content) return
    this.#told.set(message.id, { length: 0, ended: false, plan: message.content })
    this.#breakLine()
    write(drawMessage(this.#context, message))
    this.#current = message.id
  }

  /** Texts only ever go on, so an older version of one is shorter. */
  #tellText(message: Message, told = -1): void {
    const { length } = message.content
    if (length <= told) return
    this.#told.set(message.id, { length, ended: false })
    if (this.#current !== message.id) this.#begin(message)
    const text = harmless(message.content.slice(Math.max(0, told)), true)
    if (text === '') return
    write(message.role === 'thought' ? this.#context.out.paint(text, 'dim') : text)
    this.#isInLine = !text.endsWith('\n')
  }

  #begin(message: Message): void {
    this.#breakLine()
    write(headOf(this.#context, message))
    this.#current = message.id
  }

  #breakLine(): void {
    if (this.#isInLine) write('\n')
    this.#isInLine = false
  }
}

/** Prints each message once, when it is complete. */
class Recorder implements MessagePrinter {
  readonly #context: Context
  readonly #hides: (message: Message) => boolean
  readonly #open = new Map<string, Message>()
  readonly #printed = new Set<string>()
  #last: string | undefined

  constructor(context: Context, hides: (message: Message) => boolean) {
    this.#context = context
    this.#hides = hides
  }

  get since(): string | undefined {
    const first = Math.min(...[...this.#open.keys()].map(Number))
    return Number.isFinite(first) ? String(first - 1) : this.#last
  }

  async show(message: Message): Promise<void> {
    if (this.#last === undefined || isGreater(message.id, this.#last)) this.#last = message.id
    if (this.#printed.has(message.id)) return
    this.#open.set(message.id, message)
    const { role, sessionId } = message
    // What the agent says goes on in one place only: with something newer of its, its older texts are complete.
    if (role !== 'user' && role !== 'system')
      await this.#print(each => each.sessionId === sessionId && isText(each) && isGreater(message.id, each.id))
    if (role === 'user' || role === 'system' || hasEnded(message)) await this.#print(each => each.id === message.id)
  }

  async end(sessionId: string): Promise<void> {
    await this.#print(each => each.sessionId === sessionId)
  }

  say(text: string): void {
    this.#context.out.done(text)
  }

  async #print(isComplete: (message: Message) => boolean): Promise<void> {
    const complete = [...this.#open.values()].filter(isComplete).sort((a, b) => Number(a.id) - Number(b.id))
    for (const message of complete) {
      this.#open.delete(message.id)
      this.#printed.add(message.id)
      if (!this.#hides(message)) await this.#context.out.row(message, messageColumns)
    }
  }
}

const isText = ({ role }: Message): boolean => role === 'agent' || role === 'thought'
