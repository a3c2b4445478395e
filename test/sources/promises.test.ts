import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { builtIn } from '../../src/agents/providers/builtInProviders.ts'
import { root } from './imports.ts'

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const pages = ['SECURITY.md', 'docs/sandbox.md']

interface Row {
  promise: string
  file: string
  title: string
}

/** The rows of the table of tests: promise, part, file and title. An empty promise is the one above. */
function readTests(page: string): Row[] {
  const [, section = ''] = read(page).split('\n## Tests of the promises\n')
  const rows: Row[] = []
  for (const [, promise, file, title] of section.matchAll(/^\| *([^|]*?) *\|[^|]*\| `([^`]+)`: `([^`]+)` *\|$/gm))
    rows.push({ promise: promise! || (rows.at(-1)?.promise ?? ''), file: join('test', file!), title: title! })
  return rows
}

/** The titles of the tests in a file. Values in a title are `…`. */
function readTitles(file: string): string[] {
  const titles = read(file).matchAll(/(?<=\(\s*)(['"`])((?:\\.|(?!\1)[^\\\n])+)\1,/g)
  return [...titles].map(([, , title]) =>
    title!.replace(/\\(.)/g, '$1').replace(/\$\{(?:[^{}]|\{[^{}]*\})*\}|%[a-z]|\$[a-z]\w*/g, '…'),
  )
}

const withoutTest = (rows: readonly Row[]): string[] =>
  rows
    .filter(({ file, title }) => !existsSync(join(root, file)) || !readTitles(file).includes(title))
    .map(({ file, title }) => `${file}: ${title}`)

describe.each(pages)('%s', page => {
  test('names tests that exist', () => {
    const rows = readTests(page)
    expect(rows.length).toBeGreaterThan(30)
    expect(withoutTest(rows)).toEqual([])
  })

  test('names no test outside the table of tests', () => {
    const [text = ''] = read(page).split(/\n## (?:Attacks|Tests of the promises)\n/)
    expect(text.match(/.*\.test\.ts.*/g) ?? []).toEqual([])
  })
})

test('each promise of SECURITY.md has a test, and each test a promise', () => {
  const [, promised = ''] = read('SECURITY.md').split('\n## What is promised\n')
  const leads = [...promised.split('\n## ')[0]!.matchAll(/^- \*\*(.+?)[.]?\*\*/gm)].map(([, lead]) => lead)
  expect(leads.length).toBeGreaterThan(20)
  const limits = 'Limits'
  expect([...new Set(readTests('SECURITY.md').map(({ promise }) => promise))]).toEqual([...leads, limits])
})

test('each section of docs/sandbox.md has a test, and each test a section', () => {
  const sections = [...read('docs/sandbox.md').matchAll(/^##+ (.+)$/gm)].map(([, section]) => section!)
  const last = ['Attacks', 'Tests of the promises']
  const promised = [...new Set(readTests('docs/sandbox.md').map(({ promise }) => promise))]
  expect(promised).toEqual(sections.filter(section => !last.includes(section)))
})

test('the attacks of docs/sandbox.md name tests that exist', () => {
  const [, attacks = ''] = read('docs/sandbox.md').split('\n## Attacks\n')
  const files = [...attacks.split('\n## ')[0]!.matchAll(/`([\w/]+(?:\.slow)?\.test\.ts)`/g)].map(([, file]) => file!)
  expect(files.length).toBeGreaterThan(20)
  expect(
    files
      .map(file => (file.includes('/') ? file : `test/attacks/${file}`))
      .filter(file => !existsSync(join(root, file))),
  ).toEqual([])
})

/** The cells of the table row that starts with a cell. */
const cellsOf = (first: string): string[] =>
  read('docs/sandbox.md')
    .split('\n')
    .find(line => line.startsWith(`| ${first} |`))!
    .split('|')
    .map(cell => cell.trim())
const codesIn = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code!)

test.each(builtIn.filter(({ conversations }) => conversations.length > 0))(
  'docs/sandbox.md names the folders with conversations of $name',
  ({ name, conversations }) => {
    const [, , cell = ''] = cellsOf(name)
    const codes = codesIn(cell)
    const paths = / in `[^`]+`$/.test(cell) ? codes.slice(0, -1).map(each => `${codes.at(-1)}/${each}`) : codes
    expect(paths.sort()).toEqual(conversations.map(path => `~/${path}`).sort())
  },
)

test('docs/sandbox.md names the files and folders of /etc that an agent reads', () => {
  const source = read('src/sandbox/configurationParts.ts')
  const [, list = ''] = /const allowlist = \[\n([^]*?)\n\]/.exec(source)!
  const allowed = [...list.matchAll(/^ {2}'(.+)',$/gm)].flatMap(([, names]) => names!.split(' '))
  const [, section = ''] = read('docs/sandbox.md').split('\n## System settings\n')
  const documented = [...section.split('\n## ')[0]!.matchAll(/^\| [^|]+ \| (.+?) +\|$/gm)].flatMap(([, cell]) => {
    const [plain = '', below = ''] = cell!.split('in `pki`: ')
    return [...codesIn(plain), ...codesIn(below).map(name => `pki/${name}`)]
  })
  expect(documented.filter(name => name !== '/etc').sort()).toEqual(allowed.sort())
})
