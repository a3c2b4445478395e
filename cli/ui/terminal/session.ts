import { readFileSync } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import type { ReadStream } from 'node:tty'
import { Failure } from '../../failures/failure.ts'
import { dieOf, stty, writeNow } from '../../input/terminalProgram.ts'
import { openInput } from './input.ts'
import { createDecoder, type Key } from './keys.ts'
import { mouseOff, mouseOn, type Mouse } from './mouse.ts'
import { diffFrames, type Frame } from './frame.ts'

export interface TerminalOptions {
  /** Whether to use the alternate screen. Afterwards, the normal one is restored. */
  alternate: boolean
  /** Whether to enable mouse events. Without them, the terminal's own text selection works. */
  mouse: boolean
  onKey: (key: Key) => void
  onMouse: (mouse: Mouse) => void
  onResize: (size: Size) => void
  /** Called when the terminal has regained the focus. */
  onReturn: () => void
  /** Called when the terminal was closed. */
  onGone: () => void
  /** Called with an error that nothing else handles. */
  onError: (error: unknown) => void
  /** Called once the terminal is restored, before the process ends. Synchronous. */
  onExit: () => void
}
export interface Size {
  width: number
  height: number
}

/** The timeout of an escape sequence that arrives in pieces, as over a slow connection. */
const escapeWithinMs = 30
/**
 * After a stop, the time that a signal sent with the continuation has to arrive before the process stops again in the
 * background.
 */
const stopAgainMs = 50
/** Terminals accept about 100,000 bytes of base64 at most. */
const maxCopied = 20_000
const signals = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const
/** No wrap at the right edge; bracketed paste; focus events; hidden cursor. */
const enter = '\u001b[?7l\u001b[?2004h\u001b[?1004h\u001b[?25l'
const leave = '\u001b[?2026l\u001b[m\u001b[?1004l\u001b[?2004l\u001b[?7h\u001b[?25h'

/** A pause of the keys, because a program is about to use the terminal. */
export interface Hold {
  readonly isCancelled: boolean
  /** Ends the pause: the board reads the keys again. */
  release(): void
}

/** The terminal while it shows the board: raw keys in, frames out. Restores the terminal for every kind of exit. */
export class TerminalSession {
  readonly #options: TerminalOptions
  readonly #decoder = createDecoder()
  readonly #characters = new StringDecoder('utf8')
  readonly #input: ReadStream
  /** The last frame drawn. */
  #shown: Frame | undefined
  #isOpen = false
  #isClosed = false
  #held: { -readonly [Key in keyof Hold]: Hold[Key] } | undefined
  /** The work of the program that uses the terminal. */
  #program: Promise<unknown> | undefined
  /** The signal that ends the process after that program. */
  #signal: NodeJS.Signals | undefined
  #timer: NodeJS.Timeout | undefined
  #flush: NodeJS.Immediate | undefined

  constructor(options: TerminalOptions) {
    this.#options = options
    this.#input = openInput(
      () => this.#decoder.wantedBytes,
      bytes => this.#received(this.#characters.write(bytes)),
    )
    this.#input.on('end', this.#gone).on('error', this.#gone)
    process.stdout.on('error', this.#gone)
    for (const signal of signals) process.on(signal, this.#end)
    process.on('SIGTSTP', this.#stop)
    process.on('SIGCONT', this.#resume)
    process.on('uncaughtException', this.#failed)
    process.on('exit', this.#exit)
    process.stdout.on('resize', this.#resized)
    this.#open()
  }

  get size(): Size {
    return { width: Math.max(1, process.stdout.columns || 80), height: Math.max(1, process.stdout.rows || 24) }
  }

  draw(frame: Frame): void {
    if (!this.#isOpen) return
    const change = diffFrames(this.#shown, frame)
    this.#shown = frame
    if (change !== '') process.stdout.write(change)
  }

  /** Copies a text to the clipboard of the terminal's machine, also over ssh (OSC 52). */
  copy(text: string): void {
    if (this.#isOpen)
      process.stdout.write(`\u001b]52;c;${Buffer.from(text.slice(0, maxCopied)).toString('base64')}\u0007`)
  }

  /** Redraws the whole screen with the next frame. */
  redraw(): void {
    this.#shown = undefined
  }

  /** Reads no more keys, because they are for a program that starts soon. Until it starts, Ctrl-C cancels. */
  hold(): Hold {
    const held = { isCancelled: false, release: () => this.#release(held) }
    this.#held = held
    this.#input.pause()
    stty('isig')
    return held
  }

  /**
   * Suspends the board while another program uses the terminal.
   * @throws Failure (interrupted) if that was cancelled, or the board has ended
   */
  async suspendWhile<T>(held: Hold, work: () => Promise<T>): Promise<T> {
    if (this.#isClosed || held.isCancelled) throw new Failure('interrupted', 'cancelled: nothing was opened')
    this.#restore()
    const program = work()
    this.#program = program.catch(() => undefined)
    try {
      return await program
    } finally {
      this.#program = undefined
      this.#held = undefined
      if (this.#signal !== undefined) this.#die(this.#signal)
      else if (!this.#isClosed) {
        this.#open()
        this.#options.onReturn()
      }
    }
  }

  /** Restores the terminal, as soon as no other program uses it. Signals are still handled. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    clearImmediate(this.#flush)
    this.#input.pause()
    this.#restore()
    await this.#program
  }

  /** Handles no more signals. */
  release(): void {
    this.#input.destroy()
    for (const signal of signals) process.off(signal, this.#end)
    process.off('SIGTSTP', this.#stop)
    process.off('SIGCONT', this.#resume)
    process.off('uncaughtException', this.#failed)
    process.off('exit', this.#exit)
    process.stdout.off('resize', this.#resized)
  }

  /** Suspends the process group as Ctrl-Z does, with the terminal restored. */
  stop(): void {
    process.kill(0, 'SIGTSTP')
  }

  #open(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#input.setRawMode(true)
    if (this.#held) stty('isig')
    else this.#input.resume()
    this.#shown = undefined
    process.stdout.write(
      `${this.#options.alternate ? '\u001b[?1049h' : ''}${enter}${this.#options.mouse ? mouseOn : ''}`,
    )
    this.#options.onResize(this.size)
  }

  #release(held: Hold): void {
    if (this.#held !== held) return
    this.#held = undefined
    if (!this.#isOpen || this.#isClosed) return
    stty('-isig')
    this.#input.resume()
  }

  /** Synchronous, so that it works for every kind of exit. */
  #restore(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    const bottom = this.#options.alternate ? '\u001b[?1049l' : `\u001b[${this.size.height};1H\r\n`
    writeNow(1, `${this.#options.mouse ? mouseOff : ''}${leave}${bottom}`)
    try {
      this.#input.setRawMode(false)
    } catch {
      /* The terminal is closed. */
    }
  }

  /** A closed terminal cannot be written to. */
  readonly #gone = (): void => {
    this.#isOpen = false
    this.#options.onGone()
  }

  readonly #failed = (error: unknown): void => this.#options.onError(error)

  readonly #exit = (): void => {
    this.#restore()
    this.#options.onExit()
  }

  #received(piece: string): void {
    clearTimeout(this.#timer)
    clearImmediate(this.#flush)
    this.#dispatch(this.#decoder.push(piece))
    // An immediate comes after the reads: after a slow turn of the event loop, the rest of a sequence can be waiting.
    const flush = () => this.#dispatch(this.#decoder.flush())
    if (this.#decoder.pending) this.#timer = setTimeout(() => (this.#flush = setImmediate(flush)), escapeWithinMs)
  }

  #dispatch(keys: readonly Key[]): void {
    for (const key of keys) {
      if (key.name === 'focus') this.#options.onReturn()
      else if (key.mouse) this.#options.onMouse(key.mouse)
      else this.#options.onKey(key)
    }
  }

  readonly #resized = (): void => {
    this.#shown = undefined
    this.#options.onResize(this.size)
  }

  /** Ends the process, after the program that uses the terminal. Ctrl-C belongs to that program, or cancels its start. */
  readonly #end = (signal: NodeJS.Signals): void => {
    if (signal === 'SIGINT' && this.#program) return
    if (signal === 'SIGINT' && this.#held) {
      this.#held.isCancelled = true
      return this.#release(this.#held)
    }
    if (this.#program) this.#signal ??= signal
    else this.#die(signal)
  }

  #die(signal: NodeJS.Signals): void {
    this.#exit()
    dieOf(signal)
  }

  readonly #stop = (): void => {
    this.#restore()
    process.kill(process.pid, 'SIGSTOP')
  }

  /**
   * Another program might have used the terminal, so everything is set again. In the background, the process stops again, because the
   * terminal belongs to the foreground.
   */
  readonly #resume = (): void => {
    if (this.#program || this.#isClosed) return
    if (!isInForeground()) return void setTimeout(this.#stopInBackground, stopAgainMs)
    if (this.#isOpen) this.#input.setRawMode(false)
    this.#isOpen = false
    this.#open()
    this.#options.onReturn()
  }

  readonly #stopInBackground = (): void => {
    if (isInForeground()) this.#resume()
    else process.kill(process.pid, 'SIGSTOP')
  }
}

/** Whether the process belongs to the foreground of its terminal, as Linux reports; elsewhere true. */
function isInForeground(): boolean {
  try {
    // Behind the name: state, parent, group, session, terminal, the terminal's foreground group.
    const fields = readFileSync('/proc/self/stat', 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ')
    return fields[2] === fields[5]
  } catch {
    return true
  }
}
