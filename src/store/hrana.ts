import {
  BatchCond,
  openHttp,
  openWs,
  parseLibsqlUrl,
  ResponseError,
  type BatchStep,
  type Client,
  type Stream,
} from '@libsql/hrana-client'
import { Problem } from '../contract/errors.ts'
import type { Gathered } from './database.ts'

/** The first version of the protocol that can ask whether a transaction is still open. */
const protocol = 3
const tokenCheckMs = 1400

export interface Statement {
  sql: string
  args: Array<string | number | bigint | null>
  gathered?: Gathered
}

/** The result of a statement. */
export interface Rows {
  columns: readonly string[]
  rows: ReadonlyArray<ArrayLike<unknown>>
  changes: number
  lastId: number
}

/**
 * A statement of a batch. It runs only if the earlier statement `needs` succeeded; with `inside`, only within a
 * transaction.
 */
export interface Step {
  statement: Statement
  needs?: number
  inside: boolean
}
export type StepResult = { rows: Rows } | { error: unknown } | { isLeftOut: true }

/** Whether an address uses a persistent connection, on which streams may stay open. */
export const staysOpen = (url: string): boolean => /^wss?:/.test(url)

/** Opens a connection to a libSQL server; a failed connection fails its first stream. */
export function openHrana(url: string, token?: string): Client {
  const { hranaHttpUrl } = parseLibsqlUrl(url)
  const client = staysOpen(url)
    ? openWs(url, token, protocol)
    : openHttp(hranaHttpUrl!, token, undefined, undefined, protocol)
  client.intMode = 'number'
  return client
}

/**
 * Checks, in a separate request, that a libSQL server accepts the token: over a WebSocket it may reject one by closing
 * the connection, as if it were unreachable.
 * @throws Problem UNAUTHENTICATED; an unreachable server is no failure here
 */
export async function requireAcceptedToken(url: string, token?: string): Promise<void> {
  const { hranaHttpUrl, hranaWsUrl } = parseLibsqlUrl(url)
  const base = (hranaHttpUrl ?? hranaWsUrl!.replace(/^ws/, 'http')).replace(/\/?$/, '/')
  const headers = {
    'content-type': 'application/json',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  }
  const status = await fetch(new URL('v2/pipeline', base), {
    method: 'POST',
    headers,
    body: '{"baton":null,"requests":[]}',
    redirect: 'manual',
    signal: AbortSignal.timeout(tokenCheckMs),
  }).then(
    async answer => {
      await answer.body?.cancel()
      return answer.status
    },
    () => undefined,
  )
  if (status === 401)
    throw new Problem('UNAUTHENTICATED', 'The database server refuses the token in BOARD_DATABASE_TOKEN, or wants one.')
}

/**
 * Opens a stream, which is the server's connection to the database.
 * @throws Problem DATABASE_BUSY
 */
export async function openStream(client: Client): Promise<Stream> {
  try {
    const version = await client.getVersion()
    if (version < protocol)
      throw new Error(
        `The database server speaks version ${version} of the Hrana protocol; the board needs version ${protocol}.`,
      )
    return client.openStream()
  } catch (error) {
    throw reasonOf(error)
  }
}

/**
 * Runs one statement.
 * @throws ResponseError for what the database refuses, Problem DATABASE_BUSY
 */
export async function runStatement(stream: Stream, { sql, args }: Statement): Promise<Rows> {
  try {
    return rowsOf(await stream.query([sql, args]))
  } catch (error) {
    throw reasonOf(error)
  }
}

/**
 * Runs statements in order in one round trip. A failure skips only the statements that need the failed one.
 * @throws Problem DATABASE_BUSY when the batch as a whole was not answered
 */
export async function runBatch(stream: Stream, steps: readonly Step[]): Promise<StepResult[]> {
  try {
    const batch = stream.batch(false)
    const made: BatchStep[] = []
    const results = steps.map(({ statement: { sql, args }, needs, inside }) => {
      const step = batch.step()
      if (inside) step.condition(BatchCond.not(BatchCond.isAutocommit(batch)))
      if (needs !== undefined) step.condition(BatchCond.ok(made[needs]!))
      made.push(step)
      return step.query([sql, args]).then(
        (result): StepResult => (result ? { rows: rowsOf(result) } : { isLeftOut: true }),
        (error: unknown): StepResult => ({ error: reasonOf(error) }),
      )
    })
    await batch.execute()
    return await Promise.all(results)
  } catch (error) {
    throw reasonOf(error)
  }
}

const rowsOf = ({
  columnNames,
  rows,
  affectedRowCount,
  lastInsertRowid,
}: Awaited<ReturnType<Stream['query']>>): Rows => ({
  columns: columnNames.map(name => name ?? ''),
  rows,
  changes: affectedRowCount,
  lastId: Number(lastInsertRowid ?? 0),
})

const reasonOf = (error: unknown) =>
  error instanceof ResponseError || error instanceof Problem
    ? error
    : new Problem('DATABASE_BUSY', 'The database server is out of reach; try again.', { cause: error })
