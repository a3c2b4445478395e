import * as v from 'valibot'

/** Limits of a forge's texts, in characters. */
const maxNameLength = 255
const maxTitleLength = 500
const maxTextLength = 65_536
const maxUrlLength = 2048

/** Control characters except tabs and line breaks, and characters that change the text direction or are invisible. */
const hidden = /[^\P{Cc}\n\t]|[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]|\p{Cs}/gu

/** A text of a forge in several lines, without control characters, limited in length. */
export const cleanText = (text: string, maxLength = maxTextLength): string =>
  truncate(
    text
      .slice(0, 4 * maxLength)
      .replaceAll('\r\n', '\n')
      .replace(hidden, ''),
    maxLength,
  )

/** Like `cleanText`, in one line. */
export const cleanLine = (text: string, maxLength = maxTitleLength): string =>
  truncate(
    cleanText(text, 2 * maxLength)
      .replace(/\s+/g, ' ')
      .trim(),
    maxLength,
  )

/** The address of a page. Null if it does not use http or https, or contains a password. */
export function pageUrl(text: string | null | undefined): string | null {
  if (!text || text.length > maxUrlLength || !URL.canParse(text)) return null
  const { protocol, username, password, href } = new URL(text)
  const isPage = (protocol === 'https:' || protocol === 'http:') && username === '' && password === ''
  return isPage && href.length <= maxUrlLength ? href : null
}

/** Does not cut within a surrogate pair. */
const truncate = (text: string, maxLength: number): string =>
  text.length <= maxLength ? text : text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '')

/** The fields of responses. Each makes the forge's content safe to store and show. */
export const Title = v.pipe(
  v.string(),
  v.transform(text => cleanLine(text)),
)
export const Name = v.pipe(
  v.string(),
  v.transform(text => cleanLine(text, maxNameLength)),
)
export const Body = v.pipe(
  v.nullish(v.string(), ''),
  v.transform(text => cleanText(text ?? '')),
)
export const PageUrl = v.pipe(
  v.nullish(v.string(), null),
  v.transform(text => pageUrl(text)),
)
export const Moment = v.pipe(
  v.string(),
  v.check(text => !Number.isNaN(Date.parse(text)), 'must be a time'),
  v.transform(text => new Date(text).toISOString()),
)
/** A value that the board does not use. */
export const Anything = v.unknown()
export const Sha = v.pipe(v.string(), v.regex(/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/))
export const Count = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
/** A branch, verbatim, because it is only compared and queried. */
export const Branch = v.pipe(v.string(), v.maxLength(1024))
