/**
 * What a person types, in the language of FTS5: every word must begin a word of the entry, and what stands in quotes must stand there
 * so. Nothing of it is an operator. Undefined when it has no letter or digit that could be found.
 */
export function toMatch(text: string): string | undefined {
  const parts = [...text.matchAll(/"([^"]*)"|([^\s"]+)/g)].map(([, phrase, word]) => phrase === undefined ? `"${word}"*` : `"${phrase}"`)
  const findable = parts.filter(part => /[\p{L}\p{N}\p{Co}]/u.test(part))
  return findable.length > 0 ? findable.join(' ') : undefined
}
