import xterm from '@xterm/headless'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { rowOf, type Line } from '../../cli/ui/terminal/cells.ts'
import { diffFrames, type Frame } from '../../cli/ui/terminal/frame.ts'
import { paint } from '../../cli/ui/terminal/panes.ts'
import { createDecoder } from '../../cli/ui/terminal/keys.ts'
import { anyCharacter } from '../support/contract/anyCharacter.ts'

const width = 24
const height = 5
const frameOf = (lines: readonly Line[]): Frame => ({
  width,
  height,
  rows: Array.from({ length: height }, (_, y) => rowOf(lines[y] ?? { spans: [] }, width)),
})

// Characters of one to three cells on which all terminals agree, so that a real terminal can be compared cell by cell.
const signs = fc.constantFrom(...'abc XYZ-│─╭●▌', '日', '本', 'ü', 'é', 'ж', '한', 'กำ', 'क्षि')
const spans = fc.array(
  fc.record({
    text: fc.string({ unit: signs, maxLength: 12 }),
    style: fc.constantFrom('', '1', '7', '31', '1;38;5;80'),
  }),
  { maxLength: 4 },
)
const frames = fc
  .array(fc.record({ spans, style: fc.constantFrom('', '48;5;238') }), { maxLength: height })
  .map(frameOf)

async function shownBy(terminal: InstanceType<typeof xterm.Terminal>, text: string): Promise<string[]> {
  await new Promise<void>(done => terminal.write(text, done))
  return Array.from({ length: height }, (_, y) =>
    Array.from({ length: width }, (_, x) => {
      const cell = terminal.buffer.active.getLine(y)!.getCell(x)!
      return `${cell.getWidth() === 0 ? '' : cell.getChars() || ' '}/${cell.isBold() ? 'b' : ''}${cell.isInverse() ? 'i' : ''}${cell.isFgDefault() ? '' : cell.getFgColor()}${cell.isBgDefault() ? '' : `_${cell.getBgColor()}`}`
    }).join(' '),
  )
}

describe('frames', () => {
  test('an incremental frame produces the same screen as the full frame', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(frames, { minLength: 2, maxLength: 5 }), async all => {
        const stepwise = new xterm.Terminal({ cols: width, rows: height, allowProposedApi: true })
        const atOnce = new xterm.Terminal({ cols: width, rows: height, allowProposedApi: true })
        let before: Frame | undefined
        let shown: string[] = []
        for (const frame of all) {
          shown = await shownBy(stepwise, diffFrames(before, frame))
          before = frame
        }
        expect(shown).toEqual(await shownBy(atOnce, diffFrames(undefined, all.at(-1)!)))
        stepwise.dispose()
        atOnce.dispose()
      }),
      { numRuns: 150 },
    )
  })

  test('a grapheme that a pane covers partly becomes blank', () => {
    const pane = (x: number, width: number, text: string) => ({
      x,
      y: 0,
      width,
      height: 1,
      lines: [{ spans: [{ text }] }],
    })
    const cells = (...panes: Array<ReturnType<typeof pane>>) => paint(panes, { width: 8, height: 1 }).rows[0]!.graphemes
    const conjunct = 'क्षि'
    expect(cells(pane(0, 8, `a${conjunct}b`))).toEqual(['a', conjunct, '', '', 'b', ' ', ' ', ' '])
    for (const x of [1, 2, 3])
      expect(cells(pane(0, 8, `a${conjunct}b`), pane(x, 1, 'x')).join('')).toBe(
        ['', 'ax  b   ', 'a x b   ', 'a  xb   '][x],
      )
    expect(cells(pane(0, 8, 'abcdefgh'), pane(6, 3, conjunct)).join('')).toBe('abcdef  ')
  })

  test('an unchanged frame writes nothing', () => {
    fc.assert(
      fc.property(frames, frame => {
        expect(
          diffFrames(frame, {
            ...frame,
            rows: frame.rows.map(({ graphemes, styles }) => ({ graphemes: [...graphemes], styles: [...styles] })),
          }),
        ).toBe('')
      }),
    )
  })

  test('no text controls the terminal, and no row is wider than the terminal', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: anyCharacter }), { maxLength: 3 }), texts => {
        const row = rowOf({ spans: texts.map(text => ({ text })) }, width)
        expect(row.graphemes).toHaveLength(width)
        expect(row.graphemes.join('')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
      }),
    )
  })
})

describe('keys', () => {
  const names = (...pieces: string[]) => {
    const decoder = createDecoder()
    return [...pieces.flatMap(piece => decoder.push(piece)), ...decoder.flush()].map(({ name }) => name)
  }

  test.each([
    ['jjk', ['j', 'j', 'k']],
    ['\u001b[A\u001b[B\u001bOC\u001b[D', ['up', 'down', 'right', 'left']],
    ['\r\n\t \u007f', ['enter', 'enter', 'tab', 'space', 'backspace']],
    ['\u0003\u0004\u001a', ['ctrl+c', 'ctrl+d', 'ctrl+z']],
    ['\u001b', ['escape']],
    ['\u001b\u001b', ['escape', 'escape']],
    ['\u001bb', ['alt+b']],
    ['\u001b[5~\u001b[6~\u001b[3~', ['pageup', 'pagedown', 'delete']],
    ['\u001b[1;5C\u001b[1;2A\u001b[Z', ['ctrl+right', 'shift+up', 'shift+tab']],
    ['ü日👩‍👩‍👧', ['ü', '日', '👩', '\u200d', '👩', '\u200d', '👧']],
    ['\u001b[106;5u', ['ctrl+j']],
    ['\u001b[?1;2c\u001b[<35;1;1M\u001bOM', ['enter']],
    [',', ['comma']],
  ])('%j is %j', (text, keys) => {
    expect(names(text)).toEqual(keys)
  })

  test('an escape sequence split across reads decodes to one key', () => {
    for (const sequence of ['\u001b[A', '\u001b[1;5C', '\u001bOP', '\u001b[200~a\u001b[31mb\u001b[201~']) {
      const whole = names(sequence)
      expect(whole).toHaveLength(1)
      expect(names(...sequence)).toEqual(whole)
    }
  })

  test('pasted text decodes to one key, regardless of its content', () => {
    const decoder = createDecoder()
    expect(decoder.push('x\u001b[200~two\nlines q\u001b[201~y')).toEqual([
      { name: 'x', text: 'x' },
      { name: 'paste', text: 'two\nlines q' },
      { name: 'y', text: 'y' },
    ])
  })

  test('no text makes the decoder throw or wait forever', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: anyCharacter })), pieces => {
        const decoder = createDecoder()
        for (const piece of pieces) decoder.push(piece)
        decoder.flush()
        expect(decoder.pending).toBe(false)
      }),
    )
  })
})
