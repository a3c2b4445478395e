import type { ApiFailure } from '../../src/client/failures.ts'
import type { Context } from '../context/context.ts'
import { describeError } from '../failures/report.ts'
import { exitOf, Failure, usage } from '../failures/failure.ts'
import type { Column } from '../output/output.ts'
import { idOf, isId } from '../context/resolve.ts'
import { isTerminal, writeStderr } from '../output/streams.ts'
import { retryOnRateLimit } from '../requests/retryOnRateLimit.ts'

export interface BulkOptions {
  /** The completed action in the past tense, printed after each ID: `archived`. */
  verb: string | ((id: string) => string)
  /** The running action, for the progress bar: `Archiving`. */
  label?: string
  /** Whether to print no result line, because a later step prints one. */
  silent?: boolean
}

interface Done {
  id: string
  result: string
  error: string | null
}

const columns: Column<Done>[] = [
  { name: 'id', style: 'id', value: done => done.id },
  { name: 'result', value: done => done.result },
  { name: 'error', hidden: true, value: done => done.error },
]

/**
 * Returns the IDs of a command with `<ids...>`, without duplicates: as typed, 12 or #12. For `-`, reads stdin up to the first tab of each
 * line, because lists print a description after the tab.
 * @throws Failure (usage) if stdin is a terminal, or contains an invalid ID
 */
export async function readIds(ids: readonly string[], isValid = isId): Promise<string[]> {
  if (!ids.includes('-')) return [...new Set(ids.map(idOf))]
  if (isTerminal(0))
    throw usage('- reads IDs from a pipe, and stdin is a terminal', {
      hint: 'for example: board cards list -q | board cards archive -',
    })
  process.stdin.setEncoding('utf8')
  let text = ''
  for await (const chunk of process.stdin) text += chunk
  const piped = text.split('\n').flatMap(line => line.split('\t')[0]!.split(/\s+/).filter(Boolean).map(idOf))
  const wrong = piped.find(word => !isValid(word))
  if (wrong !== undefined)
    throw usage(`stdin contains "${wrong}", which is not an ID; nothing was changed`, {
      hint: 'separate IDs with spaces or line breaks; text after a tab is ignored',
      see: 'board cards list -q',
    })
  return [...new Set(ids.flatMap(id => (id === '-' ? piped : [idOf(id)])))]
}

/**
 * Runs an action on many IDs (`-` reads them from stdin), in order. Continues after a failure and prints one line per ID:
 * results on stdout, errors on stderr. On 429 and 503, waits for the time that the server requests.
 * @throws Failure (failure) at the end when any failed; with one ID only, the error of that ID.
 */
export async function runBulk(
  context: Context,
  ids: readonly string[],
  action: (id: string) => Promise<unknown>,
  { verb, label = 'Working', silent = false }: BulkOptions,
): Promise<void> {
  const { out } = context
  const listsAtEnd = out.json && !silent
  const wanted = await readIds(ids)
  const strange = wanted.find(id => !isId(id))
  if (strange !== undefined && wanted.length > 1)
    throw new Failure('notFound', `"${strange}" is not an ID; nothing was changed`, {
      hint: 'an ID is a number, such as 12',
    })
  const progress = out.progress(label, wanted.length)
  const results: Done[] = []
  const failures: unknown[] = []
  for (const id of wanted) {
    try {
      await retryOnRateLimit(() => action(id))
      results.push({ id, result: typeof verb === 'string' ? verb : verb(id), error: null })
      if (!listsAtEnd && !silent) await out.row(results.at(-1)!, columns)
    } catch (error) {
      if (isHopeless(error) || (wanted.length === 1 && !listsAtEnd)) throw error
      failures.push(error)
      const { message } = describeError(error)
      // The line begins with the ID.
      const why = message.endsWith(`: ${id}`) ? message.slice(0, -id.length - 2) : message
      results.push({ id, result: 'failed', error: why })
      progress.done()
      if (!listsAtEnd) writeStderr(`board: ${id}: ${why}\n`)
    }
    progress.step()
  }
  progress.done()
  if (listsAtEnd) await out.list(results, columns)
  if (failures.length > 0)
    throw results.length === 1 ? failures[0] : new Failure('failure', `${failures.length} of ${results.length} failed`)
}

/**
 * Returns whether all further requests would fail: the server is offline, the sign-in is invalid, or the command was
 * interrupted.
 */
const isHopeless = (error: unknown): boolean =>
  (error instanceof Error && error.name === 'Unreachable') ||
  (error as ApiFailure).status === 401 ||
  exitOf(error) === 'interrupted'
