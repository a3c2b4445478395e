import type { Context } from '../context/context.ts'
import { drawMessage, headOf, messageColumns, type Message } from './messages.ts'
import { write } from '../output/streams.ts'
import { escapeControls } from '../output/text.ts'

/** Prints streamed messages. Each update carries the whole message so far. */
export interface MessagePrinter {
  show(message: Message): Promise<void>
  /** Marks the messages of a session as complete. */
  end(sessionId: string): Promise<void>
  /** Prints a line on stderr. */
  say(text: string): void
  /** The cursor: messages up to this ID are complete. Undefined before the first one. */
  readonly since: string | undefined
}

/** On a terminal texts are streamed; in a pipe each message is one line, printed once it is complete. */
export const createPrinter = (context: Context, isHidden: (message: Message) => boolean): MessagePrinter =>
  context.out.terminal.stdout && !context.out.json && !context.out.quiet
    ? new StreamingPrinter(context, isHidden)
    : new LinePrinter(context, isHidden)

const hasEnded = ({ tool }: Message): boolean => tool?.status === 'completed' || tool?.status === 'failed'
const isGreater = (id: string, than: string): boolean => Number(id) > Number(than)

/** Streams messages: prints the part of each update that is new. */
class StreamingPrinter implements MessagePrinter {
  readonly #context: Context
  readonly #isHidden: (message: Message) => boolean
  /** Message ID -> how much of it has been printed. */
  readonly #printed = new Map<string, { length: number; ended: boolean; plan?: string }>()
  #last: string | undefined
  #current: string | undefined
  #isInLine = false

  constructor(context: Context, isHidden: (message: Message) => boolean) {
    this.#context = context
    this.#isHidden = isHidden
  }

  /** The cursor before the last message, because the last message can still grow. */
  get since(): string | undefined {
    return this.#last === undefined ? undefined : String(Number(this.#last) - 1)
  }

  async show(message: Message): Promise<void> {
    if (this.#last === undefined || isGreater(message.id, this.#last)) this.#last = message.id
    if (this.#isHidden(message)) return
    const printed = this.#printed.get(message.id)
    if (message.tool) this.#printTool(message, printed)
    else if (message.role === 'plan') this.#printPlan(message, printed)
    else this.#printText(message, printed?.length)
  }

  async end(): Promise<void> {
    this.#breakLine()
  }

  say(text: string): void {
    this.#breakLine()
    this.#current = undefined
    this.#context.out.done(text)
  }

  #printTool(message: Message, printed: { ended: boolean } | undefined): void {
    if (printed && (printed.ended || !hasEnded(message))) return
    this.#printed.set(message.id, { length: 0, ended: hasEnded(message) })
    this.#begin(message)
  }

  #printPlan(message: Message, printed: { plan?: string } | undefined): void {
    if (printed?.plan === message.content) return
    this.#printed.set(message.id, { length: 0, ended: false, plan: message.content })
    this.#breakLine()
    write(drawMessage(this.#context, message))
    this.#current = message.id
  }

  /** Texts only grow, so a shorter update is an outdated one. */
  #printText(message: Message, printed = -1): void {
    const { length } = message.content
    if (length <= printed) return
    this.#printed.set(message.id, { length, ended: false })
    if (this.#current !== message.id) this.#begin(message)
    const text = escapeControls(message.content.slice(Math.max(0, printed)), true)
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
class LinePrinter implements MessagePrinter {
  readonly #context: Context
  readonly #isHidden: (message: Message) => boolean
  readonly #open = new Map<string, Message>()
  readonly #printed = new Set<string>()
  #last: string | undefined

  constructor(context: Context, isHidden: (message: Message) => boolean) {
    this.#context = context
    this.#isHidden = isHidden
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
    // An agent writes one text at a time: a newer message completes its older ones.
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
      if (!this.#isHidden(message)) await this.#context.out.row(message, messageColumns)
    }
  }
}

const isText = ({ role }: Message): boolean => role === 'agent' || role === 'thought'
