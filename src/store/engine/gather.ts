import { ServerError, type Rows, type Statement } from './remote/hrana.ts'

/** A statement whose rows a caller waits for. */
export interface Waiting {
  statement: Statement
  resolve(rows: Rows): void
  reject(error: unknown): void
}

/**
 * The maximum number of parameter sets per statement. Measured with gets on two processors: 8 perform as well as 32, and lists
 * answer sooner.
 */
const maxSets = 8

/**
 * Combines the statements that can be gathered (`Gathered`). If a combined statement fails, calls `again` for each one
 * separately, because one statement or the length of the answers can be the cause.
 */
export function gather(waiting: readonly Waiting[], again: (alone: Waiting) => void): Waiting[] {
  const groups = new Map<unknown, Waiting[]>()
  for (const each of waiting) {
    const { sql, args, gathered } = each.statement
    const key = gathered ? [sql, ...args.slice(0, gathered.shared)].join('\n') : each
    const group = groups.get(key)
    if (group) group.push(each)
    else groups.set(key, [each])
  }
  return [...groups.values()].flatMap(group => {
    const made: Waiting[] = []
    for (let from = 0; from < group.length; from += maxSets) made.push(batch(group.slice(from, from + maxSets), again))
    return made
  })
}

const columns = ['value']

function batch(group: Waiting[], again: (alone: Waiting) => void): Waiting {
  const [first] = group as [Waiting]
  const { sql, args, gathered } = first.statement
  if (group.length === 1 || !gathered) return first
  const { shared } = gathered
  const query = sql.replace(/\?(\d+)/g, (own, number: string) =>
    Number(number) > shared ? `(j.value ->> ${Number(number) - shared - 1})` : own,
  )
  const sets = group.map(({ statement }) => statement.args.slice(shared))
  return {
    statement: {
      sql: `SELECT (${query}) AS value FROM json_each(?${shared + 1}) j ORDER BY j.key`,
      args: [...args.slice(0, shared), JSON.stringify(sets)],
    },
    resolve: ({ rows }) => {
      for (const [at, { resolve }] of group.entries()) {
        const value = rows[at]![0]
        resolve({ columns, rows: value === null ? [] : [[value]], changes: 0, lastId: 0 })
      }
    },
    reject: error => {
      for (const each of group)
        if (error instanceof ServerError) again({ ...each, statement: { ...each.statement, gathered: undefined } })
        else each.reject(error)
    },
  }
}
