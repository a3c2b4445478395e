import type { Database, Reader, Value } from './database.ts'

const maxStatements = 100
const maxResultsPerStatement = 10_000
/** The maximum number of characters of text in cached results since the last commit. */
const maxCharacters = 32 * 1024 * 1024

/**
 * Queries the version of a database on a server once for all synchronous reads of a request: the reads of its token, role and card, if all
 * are cached. The results are at least as new as the request if its first read uses this version.
 */
export function versionOfRequests({ version }: Pick<Database, 'version'>): Database['version'] {
  let answered: number | undefined
  return () => {
    if (answered !== undefined) return answered
    const asked = version()
    if (typeof asked === 'number') return asked
    return asked.then(value => {
      answered = value
      // The next tick runs after all code that waits for this result, and before any other request.
      process.nextTick(() => (answered = undefined))
      return value
    })
  }
}

/**
 * A reader that caches its results until the next commit of any client, so that concurrent identical reads run once. Callers
 * share the objects. The result of a statement must depend only on the database and the parameters.
 */
export function cachedReader(db: Database, version: Database['version'] = db.version): Reader {
  const [one, all] = [createMemory(version), createMemory(version)]
  return {
    host: db.host,
    get: <T>(sql: string, args?: readonly Value[]) =>
      one(sql, args, () => db.get<T>(sql, args)) as Promise<T | undefined>,
    all: <T>(sql: string, args?: readonly Value[]) => all(sql, args, () => db.all<T>(sql, args)) as Promise<T[]>,
  }
}

function createMemory(
  versionNow: Database['version'],
): (sql: string, args: readonly Value[] | undefined, read: () => Promise<unknown>) => Promise<unknown> {
  const remembered = new Map<string, Map<string, Promise<unknown>>>()
  let known: number | undefined
  let characters = 0
  const forget = () => {
    remembered.clear()
    characters = 0
  }
  const resultsOf = (sql: string) => {
    let results = remembered.get(sql)
    if (!results) {
      if (remembered.size === maxStatements) forget()
      remembered.set(sql, (results = new Map()))
    }
    return results
  }
  const at = (version: number | undefined, { sql, args, read }: Question) => {
    if (version === undefined) return read()
    if (version !== known) forget()
    known = version
    const key = args === undefined ? '' : JSON.stringify(args)
    const results = resultsOf(sql)
    const earlier = results.get(key)
    if (earlier) return earlier
    const result = read()
    if (results.size === maxResultsPerStatement) results.clear()
    results.set(key, result)
    result.then(
      rows => {
        if (results.get(key) === result && (characters += charactersOf(rows)) > maxCharacters) forget()
      },
      () => {
        if (results.get(key) === result) results.delete(key)
      },
    )
    return result
  }
  return (sql, args, read) => {
    const version = versionNow()
    const question = { sql, args, read }
    return typeof version === 'number' ? at(version, question) : version.then(answered => at(answered, question))
  }
}

interface Question {
  sql: string
  args: readonly Value[] | undefined
  read: () => Promise<unknown>
}

/** The number of characters of text in one or more rows. */
function charactersOf(rows: unknown): number {
  if (typeof rows === 'string') return rows.length
  return typeof rows === 'object' && rows !== null
    ? Object.values(rows).reduce<number>((sum, value) => sum + charactersOf(value), 0)
    : 0
}
