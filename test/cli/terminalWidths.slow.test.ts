import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { widthOf } from '../../cli/output/text.ts'
import { reportSkipped } from '../support/run/reportSkipped.ts'
import { eventually } from '../support/waiting/eventually.ts'

const folder = mkdtempSync(join(tmpdir(), 'board-widths-'))
const tmux = (...args: string[]) =>
  execFileSync('tmux', ['-S', join(folder, 'socket'), '-f', '/dev/null', ...args], {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C.UTF-8' },
  })
const hasTmux = (() => {
  try {
    execFileSync('tmux', ['-V'])
    return true
  } catch {
    reportSkipped('The widths of texts in tmux', 'tmux is not installed.')
    return false
  }
})()

/** The width of each text in tmux cells. */
async function drawn(texts: readonly string[]): Promise<number[]> {
  const [input, output] = ['texts', 'columns'].map(name => join(folder, name))
  writeFileSync(input!, JSON.stringify(texts))
  rmSync(output!, { force: true })
  const probe = resolve('test/fixtures/terminal/cursorColumns.mjs')
  tmux('new-session', '-d', '-x', '100', '-y', '5', `'${process.execPath}' '${probe}' '${input}' '${output}'`)
  await eventually('the widths', () => existsSync(output!), 120_000)
  return JSON.parse(readFileSync(output!, 'utf8')) as number[]
}

/** Code points that tmux 3.3a draws narrower or wider than in Unicode 16: they became wide later, or are half of a flag. */
const known: Array<[from: number, to: number]> = [
  [0x2630, 0x2637],
  [0x268a, 0x268f],
  [0x3248, 0x324f],
  [0x1_d300, 0x1_d356],
  [0x1_d360, 0x1_d376],
  [0x1_f1e6, 0x1_f1ff],
]

describe.skipIf(!hasTmux)('the width of a text is the one in tmux', () => {
  beforeAll(() => void tmux('new-session', '-d', '-s', 'kept', 'sleep 600'))
  afterAll(() => {
    tmux('kill-server')
    rmSync(folder, { recursive: true })
  })

  test('for words in scripts with vowel signs and conjuncts, and for emoji', async () => {
    const texts = [
      'น้ำ กำ ทำ คำ',
      'ນ້ຳ',
      'में राजा की',
      'क्षि',
      'தமிழ் மொழி',
      'বাংলা ভাষা',
      'ភាសាខ្មែរ',
      'မြန်မာ',
      '한국어',
      '中文',
      'é',
      '👨‍👩‍👧',
      '🇩🇪',
    ]
    expect(texts.map(widthOf)).toEqual(await drawn(texts))
  })

  test('for all code points that tmux knows, except the listed ones', async () => {
    const points = Array.from({ length: 0xf_0000 - 0xa0 }, (_, at) => at + 0xa0).filter(
      point => (point < 0xd800 || point > 0xf8ff) && !/[\p{Cn}\u2028\u2029]/u.test(String.fromCodePoint(point)),
    )
    const texts = points.map(point => String.fromCodePoint(point))
    const widths = await drawn(texts)
    // tmux reports width 0 for unknown code points.
    const differ = points.filter((_, at) => widths[at]! > 0 && widthOf(texts[at]!) !== widths[at])
    const unexpected = differ.filter(point => !known.some(([from, to]) => point >= from && point <= to))
    expect(unexpected.map(point => point.toString(16))).toEqual([])
    const marks = points.filter((_, at) => widths[at] === 0 && /[\p{Mn}\p{Me}]/u.test(texts[at]!))
    expect(marks.filter(point => widthOf(String.fromCodePoint(point)) > 0)).toEqual([])
  }, 150_000)
})
