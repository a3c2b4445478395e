import type { Database, Reader, Value } from './database.ts'

const maxStatements = 100
const maxResultsPerStatement = 1000

/**
 * A reader that gives again what it has given, the same objects, until something is committed: what many ask for at the same time
 * is read once. Where others write to the database too, everything is read each time. It is for statements whose result depends on
 * the database and their parameters alone.
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
