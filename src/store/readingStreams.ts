import type { Stream } from '@libsql/hrana-client'
import { openHrana, runBatch, runStatement, staysOpen, type Rows, type Statement, type StepResult } from './hrana.ts'

const maxStreams = 8
/** Statements of one message wait for each other. */
const maxBatch = 8

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
 * Persistent streams where possible: for each new stream the server opens the database anew, which costs more than
 * most statements (8 readers: 2,500 statements a second with a stream each, 10,300 with these). Statements asked for
 * at the same moment, or while every stream is busy, are batched: a message costs more than a statement.
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
    while (queue.length > 0 && busy < maxStreams) void runOn(idle.pop(), queue.splice(0, maxBatch))
  }
  const runOn = async (open: Stream | undefined, batch: readonly Waiting[]) => {
    busy++
    try {
      const stream = open ?? client.openStream()
      await answer(stream, batch)
      if (keeps) idle.push(stream)
      else stream.close()
    } catch (error) {
      for (const { reject } of batch) reject(error)
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

async function answer(stream: Stream, batch: readonly Waiting[]): Promise<void> {
  const results: StepResult[] =
    batch.length === 1
      ? [
          await runStatement(stream, batch[0]!.statement).then(
            rows => ({ rows }),
            (error: unknown) => ({ error }),
          ),
        ]
      : await runBatch(
          stream,
          batch.map(({ statement }) => ({ statement, inside: false })),
        )
  for (const [at, result] of results.entries()) {
    if ('rows' in result) batch[at]!.resolve(result.rows)
    else batch[at]!.reject('error' in result ? result.error : new Error('A statement was left out.'))
  }
}
