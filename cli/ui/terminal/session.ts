import { writeSync } from 'node:fs'
import { createDecoder, type Key } from './keys.ts'
import { mouseOff, mouseOn, type Mouse } from './mouse.ts'
import { diffFrames, type Frame } from './frame.ts'

export interface TerminalOptions {
  /** Uses the alternate screen, and restores the normal one afterwards. */
  alternate: boolean
  /** Enables mouse events; without, the terminal's own text selection works. */
  mouse: boolean
  onKey: (key: Key) => void
  onMouse: (mouse: Mouse) => void
  onResize: (size: Size) => void
  /** The terminal regained the focus. */
  onReturn: () => void
  /** The terminal was closed. */
  onGone: () => void
}
export interface Size {
  width: number
  height: number
}

/** The timeout of an escape sequence that arrives in pieces, as over a slow connection. */
const escapeWithinMs = 30
/** Terminals accept about 100,000 bytes of base64 at most. */
const maxCopied = 20_000
const signals = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const
/** No wrap at the right edge; bracketed paste; focus events; hidden cursor. */
const enter = '\u001b[?7l\u001b[?2004h\u001b[?1004h\u001b[?25l'
const leave = '\u001b[?2026l\u001b[m\u001b[?1004l\u001b[?2004l\u001b[?7h\u001b[?25h'

/** The terminal while it shows the board: raw keys in, frames out. Restores the terminal however the process ends. */
export class TerminalSession {
  readonly #options: TerminalOptions
  readonly #decoder = createDecoder()
  /** The last frame drawn. */
  #shown: Frame | undefined
  #isOpen = false
  #isSuspended = false
  #timer: NodeJS.Timeout | undefined
  /** Bytes and numbers of frames written. */
  readonly written = { last: 0, all: 0, frames: 0 }

  constructor(options: TerminalOptions) {
    this.#options = options
    process.stdin.setEncoding('utf8')
    for (const signal of signals) process.on(signal, this.#end)
    process.on('SIGTSTP', this.#stop)
    process.on('SIGCONT', this.#resume)
    process.on('uncaughtExceptionMonitor', this.#restore)
    process.on('exit', this.#restore)
    process.stdout.on('resize', this.#resized)
    process.stdin.on('end', this.#gone)
    process.stdout.on('error', this.#gone)
    this.#open()
  }

  get size(): Size {
    return { width: Math.max(1, process.stdout.columns || 80), height: Math.max(1, process.stdout.rows || 24) }
  }

  /** Draws a frame. */
  draw(frame: Frame): void {
    if (!this.#isOpen) return
    const change = diffFrames(this.#shown, frame)
    this.#shown = frame
    if (change === '') return
    this.written.last = Buffer.byteLength(change)
    this.written.all += this.written.last
    this.written.frames++
    process.stdout.write(change)
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

  /** Suspends the board while another program uses the terminal. */
  async suspendWhile<T>(work: () => Promise<T>): Promise<T> {
    this.#restore()
    process.stdin.off('data', this.#received)
    process.stdin.pause()
    this.#isSuspended = true
    try {
      return await work()
    } finally {
      this.#isSuspended = false
      this.#open()
      this.#options.onReturn()
    }
  }

  close(): void {
    this.#restore()
    process.stdin.off('data', this.#received)
    process.stdin.pause()
    clearTimeout(this.#timer)
    for (const signal of signals) process.off(signal, this.#end)
    process.off('SIGTSTP', this.#stop)
    process.off('SIGCONT', this.#resume)
    process.off('uncaughtExceptionMonitor', this.#restore)
    process.off('exit', this.#restore)
    process.stdout.off('resize', this.#resized)
    process.stdin.off('end', this.#gone)
  }

  /** Suspends the process group as Ctrl-Z does, with the terminal restored. */
  stop(): void {
    process.kill(0, 'SIGTSTP')
  }

  #open(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    process.stdin.setRawMode(true)
    process.stdin.off('data', this.#received).on('data', this.#received)
    process.stdin.resume()
    this.#shown = undefined
    process.stdout.write(
      `${this.#options.alternate ? '\u001b[?1049h' : ''}${enter}${this.#options.mouse ? mouseOn : ''}`,
    )
    this.#options.onResize(this.size)
  }

  /** Synchronous, because it runs however the process ends. */
  readonly #restore = (): void => {
    if (!this.#isOpen) return
    this.#isOpen = false
    const bottom = this.#options.alternate ? '\u001b[?1049l' : `\u001b[${this.size.height};1H\r\n`
    try {
      writeSync(1, `${this.#options.mouse ? mouseOff : ''}${leave}${bottom}`)
      process.stdin.setRawMode(false)
    } catch {
      /* The terminal is closed. */
    }
  }

  /** A closed terminal cannot be written to. */
  readonly #gone = (): void => {
    this.#isOpen = false
    this.#options.onGone()
  }

  readonly #received = (piece: string): void => {
    clearTimeout(this.#timer)
    this.#dispatch(this.#decoder.push(piece))
    if (this.#decoder.pending) this.#timer = setTimeout(() => this.#dispatch(this.#decoder.flush()), escapeWithinMs)
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

  /** Restores the terminal and repeats the signal. Ctrl-C belongs to a program that uses the terminal. */
  readonly #end = (signal: NodeJS.Signals): void => {
    if (this.#isSuspended && signal === 'SIGINT') return
    this.close()
    process.kill(process.pid, signal)
  }

  readonly #stop = (): void => {
    this.#restore()
    process.kill(process.pid, 'SIGSTOP')
  }

  /** Another program may have used the terminal meanwhile, so everything is set again. */
  readonly #resume = (): void => {
    if (this.#isSuspended) return
    if (this.#isOpen) process.stdin.setRawMode(false)
    this.#isOpen = false
    this.#open()
    this.#options.onReturn()
  }
}
