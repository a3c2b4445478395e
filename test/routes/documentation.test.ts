import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { searchManual } from '../../daemon/documents/searchManual.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
beforeAll(async () => {
  board = await startBoard()
})
afterAll(() => board.close())

const read = (path: string) => board.request('GET', path, { token: null })
const linksIn = (text: string) => [...text.matchAll(/<a href="([^"]+)"/g)].map(([, href]) => href!)
const names = readdirSync('docs')
  .filter(name => name.endsWith('.md') && name !== 'README.md')
  .map(name => name.slice(0, -3))

describe('the documentation', () => {
  test('lists every page, without a sign-in', async () => {
    const { status, text } = await read('/docs')
    expect(status).toBe(200)
    expect(linksIn(text)).toEqual(
      expect.arrayContaining([...names, 'SECURITY'].map(name => expect.stringMatching(`^docs/${name}$`))),
    )
  })

  test('runs no script, loads nothing, and sends its form to the same server only', async () => {
    for (const path of ['/docs', '/docs/sandbox', '/docs?q=sandbox']) {
      const page = await read(path)
      expect(page.headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
      )
      expect(page.text, path).not.toMatch(/<script|<link|src=/)
    }
  })

  test('has only links that lead to a page and a heading', async () => {
    const texts = new Map(
      await Promise.all([...names, 'SECURITY'].map(async name => [name, (await read(`/docs/${name}`)).text] as const)),
    )
    const broken = [...texts].flatMap(([name, text]) =>
      linksIn(text)
        .filter(href => !/^https?:/.test(href) && !href.startsWith('../'))
        .filter(href => {
          const [target, heading] = href.split('#')
          const other = texts.get(target || name)
          return other === undefined || (heading !== undefined && !other.includes(`id="${heading}"`))
        })
        .map(href => `${name}: ${href}`),
    )
    expect(broken).toEqual([])
  })

  test('answers a query with the sections that contain all of its words', async () => {
    const { text } = await read('/docs?q=usage+limit')
    expect(linksIn(text)).toEqual(expect.arrayContaining([expect.stringMatching(/^docs\/(limits|agents|budgets)#/)]))
    expect(text).toContain('<mark>')
    expect((await read('/docs?q=xyzzy')).text).toContain('<p>No results</p>')
  })

  test('shows the text of a query, and never as HTML', async () => {
    const { text } = await read(`/docs?q=${encodeURIComponent('"><img src=x>')}`)
    expect(text).not.toContain('<img')
    expect(text).toContain('value="&#34;&#62;&#60;img src=x&#62;"')
  })

  test.each(['README', 'none', '..%2fpackage', '%2e%2e%2fREADME', 'sandbox.md'])('returns 404 for %s', async name => {
    expect((await read(`/docs/${name}`)).status).toBe(404)
  })

  test('returns 404 on a server without documentation', async () => {
    const bare = await startBoard({ docsRoot: undefined })
    expect((await bare.request('GET', '/docs', { token: null })).status).toBe(404)
    await bare.close()
  })
})

describe('a search', () => {
  const section = (title: string, text: string) => ({ page: 'page', id: title, title, text })
  const sections = [
    section('Start', 'Merge the card. Merge it again.'),
    section('Merge', 'One commit per card.'),
    section('Push', 'Push the branch.'),
  ]
  test.each([
    ['merge', ['Merge', 'Start']],
    ['MERGE card', ['Merge', 'Start']],
    ['merge branch', []],
    ['  push ', ['Push']],
    ['push push branch', ['Push']],
    // The ninth distinct word and later ones are ignored.
    ['p u s h t e b r xyzzy', ['Push']],
  ])('for %j finds %j', (query, titles) => {
    expect(searchManual(sections, query).map(({ section: { title } }) => title)).toEqual(titles)
  })
})
