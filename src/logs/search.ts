import type { LogLevel } from '../contract/logs.ts'

/**
 * Words that stand with each entry of a level and above. A search for a common word among rare entries would otherwise look at every
 * entry with that word.
 */
export const levelWords: Record<LogLevel, string> = { info: '', warn: 'atleastwarn', error: 'atleastwarn atleasterror' }

/**
 * What a person types, in the language of FTS5: every word must begin a word of the entry, and what stands in quotes must stand there
 * so. Nothing of it is an operator. Undefined when it has no letter or digit that could be found.
 */
export function toMatch(text: string, level: LogLevel): string | undefined {
  const parts = [...text.matchAll(/"([^"]*)"|([^\s"]+)/g)].map(([, phrase, word]) =>
    phrase === undefined ? `"${word}"*` : `"${phrase}"`,
  )
  const findable = parts.filter(part => /[\p{L}\p{N}\p{Co}]/u.test(part))
  const marks = level === 'info' ? [] : [`"atleast${level}"`]
  return findable.length > 0 ? [...marks, ...findable].join(' ') : undefined
}
