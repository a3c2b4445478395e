import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readOptions, tablesOf } from '../bench/options.ts'
import { readParts, requireParts, withShortfalls, writePart, type Part } from '../bench/page.ts'
import { root } from './imports.ts'

const ofHouse = 'docs/figures.md'
const machine =
  '2 × Some processor, linux, Node 20.20.2: a request to a bare node:http server 14 µs, a synced write of 4 KiB 0.18 ms, `node -e 0` 28 ms; load 1.1 when it began.'
const part = (name: string, ...rows: string[][]): Part => ({
  name,
  command: `${name} --write figures.md`,
  machine,
  heads: ['measurement', 'value', 'target', 'verdict'],
  rows,
})
const marks = (name: string, body = '') => `<!-- begin: ${name} -->\n${body}\n<!-- end: ${name} -->\n`

let folder: string
let page: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'board-figures-'))
  page = join(folder, 'figures.md')
})
afterEach(() => rmSync(folder, { recursive: true }))
const text = () => readFileSync(page, 'utf8')
const parts = () => readParts(text(), page)

describe('a program', () => {
  test('reads back its own part after replacing it, and keeps the rest unchanged', () => {
    const around = ['# Figures\n\n', '\nBetween.\n\n', '\nAfter.\n']
    writeFileSync(page, `${around[0]}${marks('one')}${around[1]}${marks('two')}${around[2]}`)
    writePart(page, part('two', ['of | two', '1 ms', '', '']))
    writePart(page, part('one', ['before', '2 ms', '', '']))
    const [before, two] = [text(), parts().get('two')]
    writePart(page, part('one', ['now', '3 ms', '≤ 2.00 ms', 'missed'], ['and', '0', '', '']))
    expect(parts().get('one')).toEqual({
      ...part('one', ['now', '3 ms', '≤ 2.00 ms', 'missed'], ['and', '0', '', '']),
      measuredOn: new Date().toISOString().slice(0, 10),
    })
    expect(two?.rows).toEqual([['of | two', '1 ms', '', '']])
    expect(parts().get('two')).toEqual(two)
    const at = (whole: string) => whole.slice(whole.indexOf('<!-- end: one -->'))
    expect([at(text()), text().slice(0, around[0]!.length)]).toEqual([at(before), around[0]])
  })

  test('collects the missed targets of all parts', () => {
    writeFileSync(page, `${marks('missed targets')}${marks('one')}${marks('two')}`)
    writePart(page, part('one', ['move', '1 ms', '≤ 2.00 ms', 'ok']))
    expect(text()).toContain('None.')
    writePart(page, part('two', ['create', '9 ms', '≤ 3.00 ms', 'missed'], ['x', '1 ms', '', 'too noisy to judge']))
    writePart(page, {
      ...part('one', ['start', '5 ms', '2.50 ×', '≤ 2.00 ×', 'ok'], ['… cold', '5 ms', '2.50 ×', '≤ 2 ×', 'missed']),
      heads: ['measurement', 'board', 'ratio', 'target', 'verdict'],
    })
    const gathered = text().slice(0, text().indexOf('<!-- end'))
    expect(
      gathered
        .split('\n')
        .filter(line => line.startsWith('|'))
        .slice(2),
    ).toEqual(['| start cold | 2.50 × | ≤ 2 × | 1.1 | one |', '| create | 9 ms | ≤ 3.00 ms | 1.1 | two |'])
  })

  test.each([
    ['an unknown part', marks('two'), 'has no lines <!-- begin: one --> and <!-- end: one -->'],
    ['no end', '<!-- begin: one -->\n', 'does not end the part of one'],
    [
      'the end mark of another part',
      '<!-- begin: one -->\n<!-- end: two -->\n',
      'ends the part of two, which was not begun',
    ],
    ['a duplicate part', `${marks('one')}${marks('one')}`, 'begins the part of one where it must not'],
    [
      'a row without a program',
      `${marks('one')}| by hand | 3 ms |\n`,
      'outside of the parts, which no program has written',
    ],
  ])('rejects a page with %s, and leaves it unchanged', (_, content, message) => {
    writeFileSync(page, content)
    expect(() => requireParts(page, ['one'])).toThrow(message)
    expect(() => writePart(page, part('one', ['a', '1', '', '']))).toThrow(message)
    expect(text()).toBe(content)
  })

  test('states the required content of a missing page, and does not create it', () => {
    const message = `There is no page ${page}. It must be there, with the lines <!-- begin: one --> and <!-- end: one -->, <!-- begin: two --> and <!-- end: two -->.`
    expect(() => requireParts(page, ['one', 'two'])).toThrow(message)
    expect(existsSync(page)).toBe(false)
  })

  test.each([
    ['without the speed of the machine', '`one`, 2026-11-24. A quick machine.\n\n| a |\n| --- |\n| 1 |', 'own speed'],
    ['without a command', `2026-11-24. ${machine}\n\n| a |\n| --- |\n| 1 |`, 'own speed'],
    ['without rows', `\`one\`, 2026-11-24. ${machine}\n\n| a |\n| --- |`, 'no table of whole rows'],
    ['with half a row', `\`one\`, 2026-11-24. ${machine}\n\n| a | b |\n| --- | --- |\n| 1 |`, 'no table of whole rows'],
    [
      'with a foreign word',
      `\`one\`, 2026-11-24. ${machine}\n\n| a |\n| --- |\n| 1 |\nQuick!`,
      'no table of whole rows',
    ],
  ])('cannot read a part %s', (_, body, message) => {
    expect(() => readParts(marks('one', `\n${body}\n`), page)).toThrow(message)
  })
})

describe('npm run bench -- --write', () => {
  test('replaces whole tables only', () => {
    const names = (...argv: string[]) => tablesOf(readOptions([...argv, '--write', page])).map(({ name }) => name)
    expect(names('--only', 'browser')).toEqual(['npm run bench -- --only browser'])
    expect(names('--only', 'replay,events,browser')).toHaveLength(2)
    expect(names()).toHaveLength(5)
    const database = ['--database', 'ws://127.0.0.1:1', '--only']
    expect(names(...database, 'create,move,get,list')).toEqual(['npm run bench -- --database'])
    for (const argv of [
      ['--only', 'get'],
      ['--only', 'get 100'],
      [...database, 'get'],
      ['--profile', folder],
    ])
      expect(() => names(...argv), argv.join(' ')).toThrow('--write')
  })
})

describe('docs/figures.md', () => {
  const written = readFileSync(join(root, ofHouse), 'utf8')
  const all = readParts(written, ofHouse)

  test('has no measurements outside its parts', () => {
    const beside = written.replace(/^<!-- begin: [\s\S]*?^<!-- end: .*$/gm, '').replace(/`[^`]*`/g, '')
    expect(beside.match(/\d+(\.\d+)? ?(ms|µs|s|seconds|kB|MB|MiB|times|×|%|requests)\b.*/g)).toBeNull()
  })

  test('lists the shortfalls of its parts', () => {
    expect(withShortfalls(written, ofHouse)).toBe(written)
  })

  test('has a part for each program that writes one, and each names the command that writes it again', () => {
    const tests = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
      .filter(
        file =>
          file.endsWith('.test.ts') &&
          /^const note = figuresOf\(/m.test(readFileSync(join(root, 'test', file), 'utf8')),
      )
      .map(file => join('test', file))
    const programs = [
      ...tablesOf({ only: [] }).map(({ name }) => name),
      ...tablesOf({ only: [], database: 'ws://' }).map(({ name }) => name),
      'npm run year',
      'npm run mutation',
      ...tests,
    ]
    const marked = [...written.matchAll(/^<!-- begin: (.+) -->$/gm)].map(match => match[1]!)
    expect(marked.sort()).toEqual([...programs, 'missed targets'].sort())
    expect([...all.keys()].sort(), 'parts with figures').toEqual(programs.sort())
    for (const { name, command } of all.values()) {
      if (!name.endsWith('.test.ts')) {
        expect([command.startsWith(name.split(' --')[0]!), command.includes(` --write ${ofHouse}`)], command).toEqual([
          true,
          true,
        ])
        continue
      }
      expect(command).toMatch(new RegExp(`^BOARD_WRITE_FIGURES=${ofHouse} .*npx vitest run --project \\w+ ${name}$`))
      expect(readFileSync(join(root, name), 'utf8')).toContain(`figuresOf('${name}'`)
    }
  })
})
