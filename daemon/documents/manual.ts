import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import MarkdownIt, { type Token } from 'markdown-it'
import anchor from 'markdown-it-anchor'
import { Problem } from '../../src/contract/errors.ts'
import { html, Html } from './html.ts'
import { page } from './htmlPage.ts'
import { searchManual, type ManualSection } from './searchManual.ts'

/** The documentation as pages of HTML. */
export interface Manual {
  /** The list of all pages, or with a query the sections that contain all of its words. */
  index(query?: string): Response
  /** @throws Problem NOT_FOUND */
  page(name: string): Response
}

interface ManualPage {
  title: string
  body: Html
  sections: ManualSection[]
}

/** The page that lists the others. */
const indexName = 'README'

/** Reads the Markdown files of the documentation, and SECURITY.md next to their folder. */
export async function readManual(folder: string): Promise<Manual> {
  const files = (await readdir(folder)).filter(name => name.endsWith('.md')).map(name => join(folder, name))
  const security = join(folder, '../SECURITY.md')
  const texts = await Promise.all(
    [...files, security].map(async path => [basename(path, '.md'), await readFile(path, 'utf8')] as const),
  )
  const names = new Set(texts.map(([name]) => name))
  const pages = new Map(texts.map(([name, text]) => [name, readPage(name, text, names)]))
  const sections = [...pages].flatMap(([name, each]) => (name === indexName ? [] : each.sections))
  const titleOf = (name: string) => pages.get(name)!.title
  return {
    index: (query = '') =>
      query.trim() === ''
        ? layout('docs', pages.get(indexName)!)
        : layout('docs', resultsFor(query, sections, titleOf), query),
    page: name => {
      const found = name === indexName ? undefined : pages.get(name)
      if (!found) throw new Problem('NOT_FOUND')
      return layout('../docs', found)
    },
  }
}

function readPage(name: string, text: string, names: ReadonlySet<string>): ManualPage {
  const markdown = new MarkdownIt().use(anchor, { slugify: slugOf, tabIndex: false })
  const withoutComments = text.replace(/<!--.*?-->\n?/gs, '')
  const tokens = markdown.parse(withoutComments, {})
  for (const token of tokens) for (const child of token.children ?? []) adaptLink(child, name, names)
  const sections = sectionsOf(tokens, name)
  return {
    title: sections[0]!.title,
    body: new Html(markdown.renderer.render(tokens, markdown.options, {})),
    sections,
  }
}

/**
 * Rewrites a link to another page to its address on this server. A link to another file of the repository becomes plain text.
 */
function adaptLink(token: Token, from: string, names: ReadonlySet<string>): void {
  if (token.type === 'image') token.hidden = true
  if (token.type !== 'link_open') return
  const [target = '', heading] = String(token.attrGet('href')).split('#')
  if (target === '' || /^https?:/.test(target)) return
  const name = basename(target, '.md')
  const isPage = target.endsWith('.md') && names.has(name) && name !== indexName
  if (isPage) token.attrSet('href', addressOf(name, from === indexName) + (heading === undefined ? '' : `#${heading}`))
  else token.attrs = null
}

/** The address of a page, relative to `/docs` or to another page. */
const addressOf = (name: string, fromIndex: boolean): string => (fromIndex ? `docs/${name}` : name)

/** The headings with the text below each. */
function sectionsOf(tokens: readonly Token[], name: string): ManualSection[] {
  const sections: ManualSection[] = []
  let isHeading = false
  for (const token of tokens) {
    if (token.type === 'heading_open')
      sections.push({ page: name, id: String(token.attrGet('id') ?? ''), title: '', text: '' })
    isHeading = token.type === 'heading_open' || (isHeading && token.type === 'inline')
    const current = sections.at(-1)
    if (!current || !['inline', 'fence', 'code_block'].includes(token.type)) continue
    const text = token.children ? token.children.map(textOf).join('') : token.content
    if (isHeading) current.title = text.trim()
    else current.text += ` ${text}`
  }
  return sections
}

const textOf = ({ type, content }: Token): string => (type === 'softbreak' ? ' ' : content)

function resultsFor(query: string, sections: readonly ManualSection[], titleOf: (page: string) => string): ManualPage {
  const results = searchManual(sections, query)
  const list = results.map(
    ({ section: { page: name, id, title }, excerpt }) =>
      html`<li><a href="docs/${name}#${id}">${title === titleOf(name) ? '' : `${titleOf(name)}: `}${title}</a><br>${excerpt}</li>`,
  )
  const body = html`<h1>Search results</h1>${results.length === 0 ? html`<p>No results</p>` : html`<ul>${list}</ul>`}`
  return { title: `Search: ${query}`, body, sections: [] }
}

/** @param home the address of the list of pages, relative to this page */
function layout(home: string, { title, body }: ManualPage, query = ''): Response {
  const search = html`<form action="${home}" role="search"><input type="search" name="q" aria-label="Search the documentation" placeholder="Search the documentation" value="${query}"> <button>Search</button></form>`
  return page(
    title,
    html`<header><nav><a href="${home}">Documentation</a><a href="${home.replace('docs', '')}api/docs">API</a></nav>${search}</header><main>${body}</main>`,
    { formAction: "'self'" },
  )
}

/** The ID of a heading, as GitHub forms it. */
export const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
