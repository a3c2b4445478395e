import { spawn, type IPty } from '@lydell/node-pty'
import xterm from '@xterm/headless'
import { resolve } from 'node:path'
import { eventually } from '../waiting/eventually.ts'

export interface TerminalOptions {
  width?: number
  height?: number
  env?: Record<string, string>
  cwd?: string
  /** Called with the screen's lines after each synchronized update. */ onFrame?: (lines: readonly string[]) => void
}

/** A program in a pseudo terminal, and the content of its terminal. */
export interface TestTerminal {
  readonly process: IPty
  /** The lines on the screen, without trailing blanks. */
  lines(): string[]
  text(): string
  /** All output, verbatim. */
  readonly written: string
  /** The number of synchronized updates. */
  readonly frameCount: number
  /** The result of the ended program. */
  readonly ended: { code: number; signal: number | undefined } | undefined
  /** Whether the alternate screen is shown, and whether the cursor is visible. */
  readonly isAlternate: boolean
  readonly isCursorShown: boolean
  /** The style of the cell at the start of a text. */
  styleAt(text: string): { bold: boolean; inverse: boolean; dim: boolean; color: number | undefined } | undefined
  press(...keys: string[]): void
  resize(width: number, height: number): void
  /** Waits until the screen shows a text, or no longer shows it. */
  shows(text: string | RegExp, timeoutMs?: number): Promise<void>
  lacks(text: string | RegExp, timeoutMs?: number): Promise<void>
  /** Waits for the end of the program. */
  end(timeoutMs?: number): Promise<{ code: number; signal: number | undefined }>
  close(): void
}

const program = resolve(import.meta.dirname, '../../../bin/board.js')
const begins = '\u001b[?2026h'
const ends = '\u001b[?2026l'
const keys: Record<string, string> = {
  enter: '\r',
  escape: '\u001b',
  up: '\u001b[A',
  down: '\u001b[B',
  right: '\u001b[C',
  left: '\u001b[D',
  tab: '\t',
  backspace: '\u007f',
  pagedown: '\u001b[6~',
  pageup: '\u001b[5~',
  'ctrl+c': '\u0003',
  'ctrl+d': '\u0004',
  'ctrl+e': '\u0005',
  'ctrl+l': '\f',
  'ctrl+u': '\u0015',
  'ctrl+z': '\u001a',
}

/** Runs `board` in a new terminal. */
export const boardIn = (args: readonly string[], options: TerminalOptions): TestTerminal =>
  terminal(process.execPath, [program, ...args], options)

/** Runs a program in a terminal with synchronized updates. */
export function terminal(
  file: string,
  args: readonly string[],
  { width = 100, height = 30, env = {}, cwd, onFrame }: TerminalOptions,
): TestTerminal {
  const child = spawn(file, [...args], {
    cols: width,
    rows: height,
    cwd,
    env: { TERM: 'xterm-256color', ...env },
    name: env.TERM ?? 'xterm-256color',
  })
  const screen = new xterm.Terminal({ cols: width, rows: height, allowProposedApi: true, scrollback: 1000 })
  const state = { written: '', frames: 0, ended: undefined as TestTerminal['ended'], pending: 0 }
  const lines = () =>
    Array.from(
      { length: screen.rows },
      (_, y) => screen.buffer.active.getLine(screen.buffer.active.baseY + y)?.translateToString(true) ?? '',
    )
  child.onData(data => {
    state.written += data
    state.pending++
    let rest = data
    for (;;) {
      const at = rest.indexOf(ends)
      const part = at < 0 ? rest : rest.slice(0, at + ends.length)
      screen.write(part, () => {
        if (at >= 0) {
          state.frames++
          onFrame?.(lines())
        }
      })
      if (at < 0) break
      rest = rest.slice(at + ends.length)
    }
    screen.write('', () => {
      state.pending--
    })
  })
  screen.onData(answer => child.write(answer))
  child.onExit(({ exitCode, signal }) => {
    state.ended = { code: exitCode, signal }
  })
  const isMidFrame = () => state.written.lastIndexOf(begins) > state.written.lastIndexOf(ends)
  const has = (text: string | RegExp) =>
    typeof text === 'string' ? lines().join('\n').includes(text) : text.test(lines().join('\n'))
  const seen = async (what: string, condition: () => boolean, timeoutMs = 8000) => {
    try {
      await eventually(what, () => state.pending === 0 && !isMidFrame() && condition(), timeoutMs)
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${lines().join('\n')}`, { cause: error })
    }
  }
  return {
    process: child,
    lines,
    text: () => lines().join('\n'),
    get written() {
      return state.written
    },
    get frameCount() {
      return state.frames
    },
    get ended() {
      return state.ended
    },
    get isAlternate() {
      return screen.buffer.active.type === 'alternate'
    },
    get isCursorShown() {
      return !/\u001b\[\?25l(?!.*\u001b\[\?25h)/s.test(state.written)
    },
    styleAt: text => styleAt(screen, lines(), text),
    press: (...names) => {
      for (const name of names) child.write(keys[name] ?? name)
    },
    resize: (columns, rows) => {
      screen.resize(columns, rows)
      child.resize(columns, rows)
    },
    shows: (text, timeoutMs) => seen(`the text ${text}`, () => has(text), timeoutMs),
    lacks: (text, timeoutMs) => seen(`the end of the text ${text}`, () => !has(text), timeoutMs),
    end: async (timeoutMs = 8000) => {
      await seen('the end of the program', () => state.ended !== undefined, timeoutMs)
      return state.ended!
    },
    close: () => {
      if (!state.ended) child.kill('SIGKILL')
      screen.dispose()
    },
  }
}

function styleAt(screen: InstanceType<typeof xterm.Terminal>, lines: string[], text: string) {
  const y = lines.findIndex(line => line.includes(text))
  if (y < 0) return undefined
  const cell = screen.buffer.active.getLine(screen.buffer.active.baseY + y)!.getCell(lines[y]!.indexOf(text))!
  return {
    bold: cell.isBold() > 0,
    inverse: cell.isInverse() > 0,
    dim: cell.isDim() > 0,
    color: cell.isFgDefault() ? undefined : cell.getFgColor(),
  }
}
