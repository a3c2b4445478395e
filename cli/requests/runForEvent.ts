import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { LiveMessage } from '../../src/client/socket.ts'
import type { Out } from '../output/output.ts'
import { isStdoutBroken, isTerminal, writeStream } from '../output/streams.ts'

/**
 * Runs a person's shell command for one event and waits for its end. The event data goes to stdin and the environment,
 * never to the command line. A failed command is reported and does not stop later ones.
 * In a pipe, its output goes through this process, which notices that the reader has ended.
 */
export async function runForEvent(command: string, message: LiveMessage, url: string, out: Out): Promise<void> {
  const { id, cardId } = (message.data ?? {}) as { id?: string; cardId?: string }
  const card = message.type.startsWith('card.') ? id : cardId
  const env = {
    ...process.env,
    BOARD_URL: url,
    BOARD_EVENT_TYPE: message.type,
    BOARD_EVENT_SEQ: String(message.seq),
    BOARD_EVENT_AT: message.at,
    ...(message.projectId && { BOARD_PROJECT: message.projectId }),
    ...(card && { BOARD_CARD_ID: card }),
  }
  const { execa } = await import('execa')
  const child = execa(command, {
    shell: true,
    input: `${JSON.stringify(message)}\n`,
    stdout: isTerminal(1) ? 'inherit' : 'pipe',
    stderr: 'inherit',
    buffer: false,
    env,
    reject: false,
  })
  const written = child.stdout ? writeStream(child.stdout) : Promise.resolve()
  // A program that the command left in the background can keep the output open. Such a program does not delay the next event or the end of this command.
  const exit = new Promise<void>(resolve => void child.once('exit', () => resolve())).then(() => unref(child.stdout))
  const ended = await Promise.race([Promise.all([child, written]), exit])
  if (isStdoutBroken()) return
  const { exitCode, signal, originalMessage } = ended?.[0] ?? {
    exitCode: child.exitCode ?? undefined,
    signal: child.signalCode,
    originalMessage: undefined,
  }
  const failure = signal
    ? `it was ended by ${signal}`
    : exitCode === undefined
      ? originalMessage
      : exitCode === 0
        ? undefined
        : `it exited with ${exitCode}`
  if (failure !== undefined) out.warn(`--exec for event ${message.seq}: ${failure}`)
}

function unref(stream: Readable | null): void {
  if (stream instanceof Socket) stream.unref()
}
