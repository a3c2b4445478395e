import type { Stream } from '@libsql/hrana-client'
import { openHrana, runBatch, runStatement, staysOpen, type Rows, type Statement, type StepResult } from './hrana.ts'

const mostStreams = 8
/** So many statements at most share a message, and wait for each other. */
const mostTogether = 8

/** Runs single statements that read on one connection to a libSQL server. */
export interface ReadingStreams {
  execute(statement: Statement): Promise<Rows>
  readonly closed: boolean
  close(): void
}

interface Waiting {
  statement: Statement
  resolve(rows: Rows): void
  reject(error: unknown): void
}

/**
 * Streams that stay open where they can: for each one that is opened the server opens the database anew, which costs more than most
 * statements (8 readers: 2,500 statements a second with a stream each, 10,300 with these). What is asked at the same moment, or while
 * every stream is busy, travels together: a message costs more than a statement.
 */
export function openReadingStreams(url: string, token?: string): ReadingStreams {
  const client = openHrana(url, token)
  const keeps = staysOpen(url)
  let [idle, busy]: [Stream[], number] = [[], 0]
  const queue: Waiting[] = []
  let isDue = false

  const dispatch = () => {
    isDue = false
    idle = idle.filter(({ closed }) => !closed)
    while (queue.length > 0 && busy < mostStreams) void travel(idle.pop(), queue.splice(0, mostTogether))
  }
  const travel = async (open: Stream | undefined, together: readonly Waiting[]) => {
    busy++
    try {
      const stream = open ?? client.openStream()
      await answer(stream, together)
      if (keeps) idle.push(stream)
      else stream.close()
    } catch (error) {
      for (const { reject } of together) reject(error)
    }
    busy--
    dispatch()
  }
  return {
    execute: statement =>
      new Promise((resolve, reject) => {
        queue.push({ statement, resolve, reject })
        if (!isDue) setImmediate(dispatch)
        isDue = true
      }),
    get closed() {
      return client.closed
    },
    close: () => client.close(),
  }
}

async function answer(stream: Stream, together: readonly Waiting[]): Promise<void> {
  const results: StepResult[] =
    together.length === 1
      ? [
          await runStatement(stream, together[0]!.statement).then(
            rows => ({ rows }),
            (error: unknown) => ({ error }),
          ),
        ]
      : await runBatch(
          stream,
          together.map(({ statement }) => ({ statement, inside: false })),
        )
  for (const [at, result] of results.entries()) {
    if ('rows' in result) together[at]!.resolve(result.rows)
    else together[at]!.reject('error' in result ? result.error : new Error('A statement was left out.'))
  }
}
