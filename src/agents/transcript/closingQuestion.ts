/** Question marks of the world's scripts, where they end a sentence. Greek texts end a question with a semicolon. */
const mark =
  '(?:[?\\uff1f\\ufe56\\ufe16\\u061f\\u2e2e\\u037e\\u1367\\u203d\\u2047-\\u2049\\u2cfa\\u2cfb\\ua60f\\ua6f7\\u1945\\u{11143}]|(?<=\\p{Script=Greek}\\s?);)'
const closers = '[!\\uff01?\\uff1f\\p{Pe}\\p{Pf}"\'*_`~]*'
/** A question mark and the characters that can follow it in a sentence. Armenian sets its mark inside the word. */
const question = new RegExp(`(?:${mark}${closers}|\u055e\\p{L}*[\u0589:]?)(?=$|\\s|[\\p{Lo}\u00bf])`, 'u')
const questionAtEnd = new RegExp(
  `(?:${mark}|\u055e\\p{L}*[\u0589:]?)${closers}[\\s\\p{Extended_Pictographic}\ufe0f]*$`,
  'u',
)
const listItem = /^\s*(?:[-*+•]|\p{N}{1,3}[.)]|[A-Za-z][.)]|\|)\s?/u
const fencedCode = /^[ \t]*(```|~~~)[\s\S]*?(?:^[ \t]*\1[ \t]*$|(?![\s\S]))/gm
const code = /`[^`\n]*`/g
const link = /https?:\/\/\S+/g

/**
 * The question with which a message ends, as its paragraph; undefined if there is none. A message ends with a question if its last
 * paragraph contains one, or the paragraph before that ends with one. Code, addresses and lists of answers do not count.
 */
export function closingQuestion(message: string): string | undefined {
  const paragraphs = message
    .replace(fencedCode, '\n\n')
    .split(/\n\s*\n/)
    .map(text => ({ text: text.trim(), plain: text.replace(code, 'x').replace(link, 'x').trim() }))
    .filter(({ plain }) => plain !== '' && !isListOfAnswers(plain))
  const [last, before] = [paragraphs.at(-1), paragraphs.at(-2)]
  if (last && (question.test(last.plain) || questionAtEnd.test(last.plain))) return last.text
  return before && questionAtEnd.test(before.plain) ? before.text : undefined
}

const isListOfAnswers = (paragraph: string): boolean =>
  paragraph.split('\n').every(line => listItem.test(line)) && !question.test(paragraph)
