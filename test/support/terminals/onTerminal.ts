import { spawn } from '@lydell/node-pty'
import { resolve } from 'node:path'
import { eventually } from '../waiting/eventually.ts'

export interface ProgramEnvironment {
  cwd: string
  env: Record<string, string>
}
/** A prompt to wait for, and the answer to type. */
export type Answer = readonly [question: string, answer: string]

/** A program on a pseudo-terminal: what it has printed so far, and its exit code once it has ended. */
export interface OnTerminal {
  readonly text: string
  readonly code: number | undefined
  type(text: string): void
  /** Closes the terminal and kills the program. */
  close(): void
}

/** Prints the program's exit code between markers and then keeps the terminal open: libuv treats the hangup of a closed one as its end and can lose output that the kernel still buffers. */
const holdOpen = 'trap : INT; "$@"; printf "\\036%d\\036" "$?"; exec sleep 300'
const exitMarker = /\x1e(\d+)\x1e$/

export function startOnTerminal(file: string, args: readonly string[], { cwd, env }: ProgramEnvironment): OnTerminal {
  const terminal = spawn('/bin/sh', ['-c', holdOpen, 'sh', file, ...args], { cols: 200, rows: 30, cwd, env })
  let text = ''
  terminal.onData(data => {
    text += data
  })
  return {
    get text() {
      return text.replace(exitMarker, '')
    },
    get code() {
      return exitMarker.test(text) ? Number(exitMarker.exec(text)![1]) : undefined
    },
    type: answer => terminal.write(answer),
    close: () => terminal.kill('SIGKILL'),
  }
}

/** Runs `board` on a terminal to its end, and answers its prompts. @returns its exit code and its output, with lines ended by \n */
export async function onTerminal(
  args: readonly string[],
  { answers = [], ...environment }: ProgramEnvironment & { answers?: readonly Answer[] },
): Promise<{ code: number; text: string }> {
  const terminal = startOnTerminal(process.execPath, [resolve('bin/board.js'), ...args], environment)
  try {
    for (const [question, answer] of answers) {
      await eventually(question, () => terminal.text.includes(question), 10_000)
      terminal.type(answer)
    }
    await eventually('its end', () => terminal.code !== undefined, 10_000)
    return { code: terminal.code!, text: terminal.text.replaceAll('\r', '') }
  } finally {
    terminal.close()
  }
}
