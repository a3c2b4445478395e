import type { Database, Reader, Value } from './database.ts'

const maxStatements = 100
const maxResultsPerStatement = 1000

/**
 * A reader that caches its results until the next commit, so that concurrent identical reads run once. Callers share
 * the objects. On a shared database nothing is cached. Only for statements whose result depends on the database and
 * their parameters alone.
 */
export function cachedReader(db: Database): Reader {
  const [one, all] = [createMemory(db), createMemory(db)]
  return {
    host: db.host,
    get: <T>(sql: string, args?: readonly Value[]) =>
      one(sql, args, () => db.get<T>(sql, args)) as Promise<T | undefined>,
    all: <T>(sql: string, args?: readonly Value[]) => all(sql, args, () => db.all<T>(sql, args)) as Promise<T[]>,
  }
}

function createMemory(
  db: Database,
): (sql: string, args: readonly Value[] | undefined, read: () => Promise<unknown>) => Promise<unknown> {
  const remembered = new Map<string, Map<string, Promise<unknown>>>()
  let commits: number | undefined
  const resultsOf = (sql: string) => {
    let results = remembered.get(sql)
    if (!results) {
      if (remembered.size === maxStatements) remembered.clear()
      remembered.set(sql, (results = new Map()))
    }
    if (results.size === maxResultsPerStatement) results.clear()
    return results
  }
  return (sql, args, read) => {
    const present = db.commits()
    if (present === undefined) return read()
    if (present !== commits) remembered.clear()
    commits = present
    const key = args === undefined ? '' : JSON.stringify(args)
    const results = resultsOf(sql)
    const known = results.get(key)
    if (known) return known
    const result = read()
    results.set(key, result)
    result.catch(() => {
      if (results.get(key) === result) results.delete(key)
    })
    return result
  }
}
