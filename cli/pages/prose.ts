import type { MarkdownIt, Token } from 'markdown-it'
import { Html, html } from '../../src/config/html.ts'

/** Longer texts are shown as they are. */
const maxMarkdownLength = 65_536
const maxTextLength = 200_000
/** So long at most it is laid out; what is made to take long is then shown as it is. */
const maxMs = 5000
let spentMs = 0
let markdown: MarkdownIt | undefined

/** Makes `prose` ready. */
export async function loadProse(): Promise<void> {
  markdown ??= prepared((await import('markdown-it')).default)
}

/** Markdown as HTML. HTML in it is shown and means nothing, links lead to the web or to mail only, and pictures are links. */
export function prose(text: string): Html {
  if (text.length > maxMarkdownLength || spentMs > maxMs) return html`<pre>${cut(text)}</pre>`
  const startedAt = performance.now()
  const laidOut = new Html(markdown!.render(text))
  spentMs += performance.now() - startedAt
  return html`<div class="prose">${laidOut}</div>`
}

/** A text as it is, cut where it is longer than anybody reads. */
export const cut = (text: string, maxLength = maxTextLength): string =>
  text.length > maxLength
    ? `${text.slice(0, maxLength).toWellFormed()}\n… ${(text.length - maxLength).toLocaleString('en')} more characters are left out.`
    : text

function prepared(Markdown: typeof MarkdownIt): MarkdownIt {
  const markdown = new Markdown({ html: false, linkify: true, breaks: true })
  markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false })
  markdown.validateLink = url => /^(https?:\/\/|mailto:)/i.test(url)
  markdown.core.ruler.push('for_a_page', ({ tokens, Token: Made }) => {
    for (const [at, token] of tokens.entries()) {
      // Headings of a text stand below those of the page.
      if (token.type.startsWith('heading_')) token.tag = `h${Math.min(6, Number(token.tag.slice(1)) + 3)}`
      // A style in an attribute is against the page's policy.
      const aligned = /^text-align:(\w+)$/.exec(String(token.attrGet('style')))?.[1]
      if (aligned !== undefined) token.attrs = [['class', aligned]]
      if (token.children) token.children = withoutPictures(token.children, Made)
      if (tokens[at - 2]?.type === 'list_item_open' && token.children?.[0]?.type === 'text')
        token.children[0].content = withBox(token.children[0].content)
      for (const child of token.children ?? []) if (child.type === 'link_open') child.attrSet('rel', 'noreferrer')
    }
  })
  return markdown
}

const boxes: Record<string, string> = { ' ': '\u2610', x: '\u2611', '~': '\u25d0' }
/** What is to do, done or going on, in a list of tasks. */
const withBox = (text: string): string =>
  text.replace(/^\[([ x~])\](?= )/i, (_, mark: string) => boxes[mark.toLowerCase()]!)

/** A picture becomes a link to it, or within a link its words. */
function withoutPictures(tokens: Token[], Made: typeof Token): Token[] {
  let links = 0
  return tokens.flatMap(token => {
    if (token.type === 'link_open') links++
    if (token.type === 'link_close') links--
    if (token.type !== 'image') return [token]
    const words = new Made('text', '', 0)
    words.content = token.content || 'picture'
    if (links > 0) return [words]
    const open = new Made('link_open', 'a', 1)
    open.attrSet('href', String(token.attrGet('src')))
    return [open, words, new Made('link_close', 'a', -1)]
  })
}
