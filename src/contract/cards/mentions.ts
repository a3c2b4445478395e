/** `@[name](userId)`; a name has no brackets and no line break. */
const mention = /@\[([^[\]\n]{1,200})\]\(([1-9]\d{0,15})\)/g
const maxMentions = 100

/** The accounts that a text mentions, each once, at most 100. */
export const mentionsOf = (body: string): number[] =>
  [...new Set([...body.matchAll(mention)].map(([, , id]) => Number(id)))].slice(0, maxMentions)

/** The text with `@name` for each mention. */
export const plainMentions = (body: string): string => body.replace(mention, '@$1')
