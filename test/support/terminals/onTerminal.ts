import { spawn } from '@lydell/node-pty'
import { resolve } from 'node:path'
import { eventually } from '../waiting/eventually.ts'

export interface Surroundings {
  cwd: string
  env: Record<string, string>
}
/** A question that is awaited, and what is typed then. */
export type Answer = readonly [question: string, answer: string]

/** A program on a terminal of its own: what that was told so far, and its exit code once it has ended. */
export interface OnTerminal {
  readonly text: string
  readonly code: number | undefined
  type(text: string): void
  /** Takes the terminal away, and ends what is on it. */
  close(): void
}

/** Tells how the program has ended and goes on to hold the terminal: where nobody does, the last words on it may be lost (libuv takes a hangup for the end while more waits in the system). */
const outlive = 'trap : INT; "$@"; printf "\\036%d\\036" "$?"; exec sleep 300'
const told = /\x1e(\d+)\x1e$/

export function startOnTerminal(file: string, args: readonly string[], { cwd, env }: Surroundings): OnTerminal {
  const terminal = spawn('/bin/sh', ['-c', outlive, 'sh', file, ...args], { cols: 200, rows: 30, cwd, env })
  let text = ''
  terminal.onData(data => {
    text += data
  })
  return {
    get text() {
      return text.replace(told, '')
    },
    get code() {
      return told.test(text) ? Number(told.exec(text)![1]) : undefined
    },
    type: answer => terminal.write(answer),
    close: () => terminal.kill('SIGKILL'),
  }
}

/** Runs `board` on a terminal to its end, and answers what it asks. @returns its exit code and what the terminal was told, lines ended by \n */
export async function onTerminal(
  args: readonly string[],
  { answers = [], ...surroundings }: Surroundings & { answers?: readonly Answer[] },
): Promise<{ code: number; text: string }> {
  const terminal = startOnTerminal(process.execPath, [resolve('bin/board.js'), ...args], surroundings)
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
