import type { LiveMessage } from '../../src/client/socket.ts'
import type { Out } from '../output/output.ts'

/**
 * Runs a person's shell command for one event and waits for its end. What the event says goes in by stdin and environment,
 * never into the command line. A command that fails is told of and does not end the following.
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
  const { exitCode, signal, originalMessage } = await execa(command, {
    shell: true,
    input: `${JSON.stringify(message)}\n`,
    stdout: 'inherit',
    stderr: 'inherit',
    env,
    reject: false,
  })
  const failure = signal
    ? `it was ended by ${signal}`
    : exitCode === undefined
      ? originalMessage
      : exitCode === 0
        ? undefined
        : `it exited with ${exitCode}`
  if (failure !== undefined) out.warn(`--exec for event ${message.seq}: ${failure}`)
}
