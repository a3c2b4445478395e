/**
 * Characters that are invisible to people but readable for models: tags, which can spell complete sentences, controls, direction
 * overrides, fillers and joiners. A joiner within an emoji or between joined letters, and a variant selector of an emoji, are
 * harmless.
 */
const written = 'Arab Syrc Deva Beng Guru Gujr Taml Telu Knda Mlym Sinh Khmr Mymr'
  .split(' ')
  .map(script => `\\p{sc=${script}}`)
  .join('')
const joiner = `(?<!\\p{Extended_Pictographic}\\uFE0F?|\\p{Emoji_Modifier}|[${written}])[\\u200C\\u200D]`
const variant = '(?<=[\\uFE0E\\uFE0F])[\\uFE0E\\uFE0F]|[\\uFE00-\\uFE0D\\u180B-\\u180F]'
const others =
  '[\\u007F-\\u009F\\u00AD\\u034F\\u061C\\u115F\\u1160\\u17B4\\u17B5\\u200B\\u200E\\u200F\\u2028-\\u202E\\u2060-\\u206F\\u3164\\uFEFF\\uFFA0\\uFFF9-\\uFFFB\\u{1D173}-\\u{1D17A}\\u{E0000}-\\u{E0FFF}]'
const hidden = new RegExp(`${joiner}|${variant}|${others}`, 'gu')

/** JSON in which invisible characters are escaped, so that it parses to the same value. */
export const visibleJson = (value: unknown): string =>
  JSON.stringify(value).replace(hidden, character =>
    [...Array(character.length).keys()]
      .map(at => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join(''),
  )

/** Returns the value with invisible characters escaped as text, for readers that do not parse JSON. */
export const escapeInvisible = <T>(value: T): T =>
  JSON.parse(
    JSON.stringify(value).replace(hidden, character => `\\\\u{${character.codePointAt(0)!.toString(16)}}`),
  ) as T
