import type { ApiFailure } from '../../src/client/failures.ts'
import type { Context } from '../context/context.ts'
import { describe } from '../failures/report.ts'
import { exitOf, Failure, usage } from '../failures/failure.ts'
import type { Column } from '../output/output.ts'
import { idOf, isId } from '../context/resolve.ts'
import { isTerminal, talk } from '../output/streams.ts'
import { retryOnRateLimit } from '../requests/retryOnRateLimit.ts'

export interface BulkOptions {
  /** What was done, in the past tense: `archived`. It stands behind each id. */
  verb: string | ((id: string) => string)
  /** What is being done, for the progress bar: `Archiving`. */
  label?: string
  /** Print no line of what was done, for what follows prints one. */
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
 * The ids of a command that takes `<ids...>`, each once: as typed, 12 or #12, or for `-` the words of stdin, of each line those
 * before its first tab: what stands behind is a description, as lists print it.
 * @throws Failure (usage) when stdin is a terminal, or holds what is no id
 */
export async function readIds(ids: readonly string[]): Promise<string[]> {
  if (!ids.includes('-')) return [...new Set(ids.map(idOf))]
  if (isTerminal(0))
    throw usage('- reads ids from a pipe, and stdin is a terminal', {
      hint: 'for example: board cards list -q | board cards archive -',
    })
  process.stdin.setEncoding('utf8')
  let text = ''
  for await (const chunk of process.stdin) text += chunk
  const piped = text.split('\n').flatMap(line => line.split('\t')[0]!.split(/\s+/).filter(Boolean).map(idOf))
  const wrong = piped.find(word => !isId(word))
  if (wrong !== undefined)
    throw usage(`stdin holds "${wrong}", which is no id; nothing was done`, {
      hint: 'it takes ids with spaces or line breaks between them; behind a tab may stand a description',
      see: 'board cards list -q',
    })
  return [...new Set(ids.flatMap(id => (id === '-' ? piped : [idOf(id)])))]
}

/**
 * Does the same to many ids (`-` reads them from stdin), in order. It goes on after a failure and prints one line for each id:
 * what was done on stdout, what failed on stderr. When the server asks for patience (429, 503), it waits as long as it was told.
 * @throws Failure (failure) at the end when any failed; with one id only, that id's own error.
 */
export async function bulk(
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
    throw new Failure('notFound', `there is no "${strange}", which is no id; nothing was done`, {
      hint: 'ids are numbers, like 12',
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
      const { message } = describe(error)
      // The line begins with the id.
      const why = message.endsWith(`: ${id}`) ? message.slice(0, -id.length - 2) : message
      results.push({ id, result: 'failed', error: why })
      progress.done()
      if (!listsAtEnd) talk(`board: ${id}: ${why}\n`)
    }
    progress.step()
  }
  progress.done()
  if (listsAtEnd) await out.list(results, columns)
  if (failures.length > 0)
    throw results.length === 1 ? failures[0] : new Failure('failure', `${failures.length} of ${results.length} failed`)
}

/** Nothing more can work: the server is away, or the sign-in does not hold. */
const isHopeless = (error: unknown): boolean =>
  (error instanceof Error && error.name === 'Unreachable') ||
  (error as ApiFailure).status === 401 ||
  exitOf(error) === 'interrupted'
