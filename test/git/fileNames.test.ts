import { expect, test } from 'vitest'
import { decodeName, encodeName, shownName } from '../../src/contract/cards/fileNames.ts'
import { nulSeparated, nulTerminated } from '../../src/git/fileNames.ts'

test.each<[what: string, bytes: number[], shown: string]>([
  ['nothing', [], ''],
  ['ASCII', [0x61, 0x0a], 'a\n'],
  ['UTF-8 of each length', [...Buffer.from('aü€😀')], 'aü€😀'],
  ['Latin-1', [0x6d, 0xfc, 0x6c], 'm\\374l'],
  ['UTF-8 next to Latin-1', [...Buffer.from('ü'), 0xfc, ...Buffer.from('😀')], 'ü\\374😀'],
  ['the beginning of a character', [0x61, 0xe2, 0x82], 'a\\342\\202'],
  ['an encoded surrogate', [0xed, 0xb3, 0xbc], '\\355\\263\\274'],
  ['an encoding that is too long', [0xc0, 0xaf], '\\300\\257'],
])('a name of %s is read, shown and written back', (_, bytes, shown) => {
  const name = decodeName(Buffer.from(bytes))
  expect(shownName(name)).toBe(shown)
  expect([...encodeName(name)]).toEqual(bytes)
})

test('any bytes are preserved, and different bytes are different names', () => {
  const names = new Map<string, string>()
  for (let round = 0; round < 5000; round++) {
    const bytes = Buffer.from(Array.from({ length: round % 7 }, (_, at) => (round * 2654435761 * (at + 7)) >>> 24))
    const name = decodeName(bytes)
    expect(Buffer.from(encodeName(name)).equals(bytes)).toBe(true)
    expect(names.get(name) ?? bytes.toString('hex')).toBe(bytes.toString('hex'))
    names.set(name, bytes.toString('hex'))
  }
})

test('lists of names preserve their bytes', () => {
  const list = Buffer.from([0x61, 0, 0xfc, 0x62, 0, 0xc3, 0xbc, 0])
  expect(nulSeparated(list).map(shownName)).toEqual(['a', '\\374b', 'ü'])
  expect(Buffer.from(nulTerminated(nulSeparated(list))).equals(list)).toBe(true)
  expect(nulSeparated(Buffer.alloc(0))).toEqual([])
})
