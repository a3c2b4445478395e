import { createHash } from 'node:crypto'

/** Text that is already HTML. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Part = string | number | Html | readonly Html[] | undefined

/**
 * HTML from a template. Values that are not HTML are escaped. Templates must be ASCII, because the built program is read as
 * Latin-1.
 */
export const html = (texts: TemplateStringsArray, ...parts: Part[]): Html =>
  new Html(texts.reduce((whole, text, index) => whole + render(parts[index - 1]) + text))

function render(part: Part): string {
  if (part instanceof Html) return part.text
  if (Array.isArray(part)) return (part as Html[]).map(each => each.text).join('')
  return String(part ?? '').replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
}

/** Returns the content security policy of a page with this style. The page loads and runs nothing else. */
export const policyFor = (style: string, formAction: string): string =>
  `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action ${formAction}`
