import type { LogLevel } from '../contract/server/logs.ts'

/**
 * Words that are indexed with each entry of a level and above. Otherwise, a search for a common word among rare entries would
 * read every entry with that word.
 */
export const levelWords: Record<LogLevel, string> = { info: '', warn: 'atleastwarn', error: 'atleastwarn atleasterror' }

/**
 * A user's search text in the language of FTS5: every word must be a prefix of a word in the entry, and quoted text must occur verbatim.
 * The text cannot contain operators. Undefined if it has no searchable letter or digit.
 */
export function toMatch(text: string, level: LogLevel): string | undefined {
  const parts = [...text.matchAll(/"([^"]*)"|([^\s"]+)/g)].map(([, phrase, word]) =>
    phrase === undefined ? `"${word}"*` : `"${phrase}"`,
  )
  const findable = parts.filter(part => /[\p{L}\p{N}\p{Co}]/u.test(part))
  const marks = level === 'info' ? [] : [`"atleast${level}"`]
  return findable.length > 0 ? [...marks, ...findable].join(' ') : undefined
}
