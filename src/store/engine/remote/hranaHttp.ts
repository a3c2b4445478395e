import { BatchCond, openHttp, parseLibsqlUrl, ResponseError, type BatchStep } from '@libsql/hrana-client'
import {
  ServerError,
  type Connection,
  type Rows,
  type Statement,
  type Step,
  type StepResult,
  type Stream,
} from './hrana.ts'

/** The first protocol version that can query whether a transaction is still open. */
const protocol = 3

type HttpClient = ReturnType<typeof openHttp>
type HttpStream = ReturnType<HttpClient['openStream']>

/** Opens a connection to a libSQL server over separate HTTP requests, which take twice as long as over a WebSocket. */
export function openHranaHttp(url: string, token?: string): Connection {
  const client = openHttp(parseLibsqlUrl(url).hranaHttpUrl!, token, undefined, undefined, protocol)
  client.intMode = 'number'
  return {
    openStream: () => openHttpStream(client),
    get closed() {
      return client.closed
    },
    close: () => client.close(),
  }
}

function openHttpStream(client: HttpClient): Stream {
  let stream: HttpStream | undefined
  let closed = false
  return {
    batch: async steps => {
      await requireVersion(client)
      if (closed) throw new Error('The stream was closed.')
      return runOn((stream ??= client.openStream()), steps)
    },
    get closed() {
      return closed || (stream?.closed ?? false)
    },
    close: () => {
      closed = true
      stream?.close()
    },
  }
}

async function requireVersion(client: HttpClient): Promise<void> {
  const version = await client.getVersion()
  if (version < protocol)
    throw new Error(
      `The database server speaks version ${version} of the Hrana protocol, but the board requires version ${protocol}.`,
    )
}

async function runOn(stream: HttpStream, steps: readonly Step[]): Promise<StepResult[]> {
  const batch = stream.batch(false)
  const made: BatchStep[] = []
  const results = steps.map(({ statement, needs, inside }) => {
    const step = batch.step()
    if (inside) step.condition(BatchCond.not(BatchCond.isAutocommit(batch)))
    if (needs !== undefined) step.condition(BatchCond.ok(made[needs]!))
    made.push(step)
    return step.query([statement.sql, statement.args.map(toExact)]).then(
      (result): StepResult => (result ? { rows: rowsOf(result) } : { isLeftOut: true }),
      (error: unknown): StepResult => ({ error: toServerError(error) }),
    )
  })
  try {
    await batch.execute()
  } catch (error) {
    throw toServerError(error)
  }
  return Promise.all(results)
}

/** Converts integers to BigInt, because SQL functions write the float 1 as 1.0 in JSON. */
export const toExact = (arg: Statement['args'][number]): string | number | bigint | null =>
  typeof arg === 'number' && Number.isSafeInteger(arg) ? BigInt(arg) : arg

const toServerError = (error: unknown) =>
  error instanceof ResponseError ? new ServerError(error.message, error.code) : error

const rowsOf = ({
  columnNames,
  rows,
  affectedRowCount,
  lastInsertRowid,
}: Awaited<ReturnType<HttpStream['query']>>): Rows => ({
  columns: columnNames.map(name => name ?? ''),
  rows,
  changes: affectedRowCount,
  lastId: Number(lastInsertRowid ?? 0),
})
