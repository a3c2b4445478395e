/** One small change of a text: the text at `at` is replaced. */
export interface TextChange {
  at: number
  was: string
  is: string
}

const changes: ReadonlyArray<[pattern: RegExp, is: string]> = [
  [/ AND /g, ' OR '],
  [/(?<!INSERT) OR (?!IGNORE|REPLACE)/g, ' AND '],
  [/ IS NOT NULL\b/g, ' IS NULL'],
  [/ IS NULL\b/g, ' IS NOT NULL'],
  [/ <= /g, ' < '],
  [/ >= /g, ' > '],
  [/ < /g, ' <= '],
  [/ > /g, ' >= '],
  [/ <> /g, ' = '],
  [/ = /g, ' <> '],
  [/ IS (?=\?)/g, ' IS NOT '],
  [/ DESC\b/g, ' ASC'],
  [/ ASC\b/g, ' DESC'],
  [/ \+ 1\b/g, ' + 2'],
  [/ - 1\b/g, ' - 2'],
  [/\bNOT EXISTS\b/g, 'EXISTS'],
  [/(?<!NOT |IF )\bEXISTS(?= ?\()/g, 'NOT EXISTS'],
  [/\bmax\(/g, 'min('],
  [/\bmin\(/g, 'max('],
  [/\bLEFT JOIN\b/g, 'JOIN'],
  [/ OR IGNORE\b/g, ''],
  [/\bNOT IN\b/g, 'IN'],
  [/(?<!NOT) IN (?=\()/g, ' NOT IN '],
]
const isAssigned = (before: string): boolean =>
  /\b(SET|WHERE|ON|AND|OR|SELECT|iif\(|CASE|WHEN|UPDATE)\b(?!.*\b(SET|WHERE|ON|AND|OR|SELECT|iif\(|CASE|WHEN|UPDATE)\b)/s.exec(
    before,
  )?.[1] === 'SET'

/** Whether a text is SQL, or a part of it. */
export const isSql = (text: string): boolean =>
  /\b(SELECT|INSERT|UPDATE|DELETE|WHERE|FROM|SET|ORDER BY|LIMIT|JOIN|IS NULL|IS NOT NULL)\b|[\w)] (=|<|>|<=|>=|<>) \?/.test(
    text,
  )

/** One-word mistakes in SQL. The values of assignments and definitions are left unchanged, because the database would reject the change. */
export const sqlChanges = (sql: string): TextChange[] =>
  changes
    .flatMap(([pattern, is]) => [...sql.matchAll(pattern)].map(found => ({ at: found.index, was: found[0], is })))
    .filter(({ at, was }) => !(was === ' = ' && isAssigned(sql.slice(0, at))))
    .sort((a, b) => a.at - b.at)
