import type { Context } from '../context/context.ts'
import { describeError } from '../failures/report.ts'
import { Failure } from '../failures/failure.ts'
import { askYesOrNo } from '../input/prompt.ts'
import { writeStderr } from '../output/streams.ts'
import { escapeControls } from '../output/text.ts'

/** Error codes that mean that the request never reached a server. */
const unsent = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/**
 * Sends a request that has no Idempotency-Key, because its answer contains a secret. Without an answer, the request might have taken
 * effect: a user at a terminal is asked before it is sent again, and a script gets an error.
 * @param see the command that shows whether the request took effect
 */
export async function makeOnce<T>(context: Context, see: string, make: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await make()
    } catch (error) {
      if (!mayBeDone(error)) throw error
      const { message } = describeError(error)
      if (!context.mayAsk)
        throw new Failure('unreachable', message, {
          hint: 'the request might have succeeded: check before you retry',
          see,
        })
      writeStderr(`board: ${escapeControls(message)}\nthe request might have succeeded; to check: ${see}\n`)
      if (!(await askYesOrNo(context, 'Send it again?', '--no-input')))
        throw new Failure('unreachable', message, { see })
    }
  }
}

const mayBeDone = (error: unknown): error is Error =>
  error instanceof Error &&
  error.name === 'Unreachable' &&
  !unsent.has((error.cause as NodeJS.ErrnoException | undefined)?.code ?? '')
