import fc from 'fast-check'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { BrokenJson, firstByte, membersAt, type Member } from '../../src/transfers/json.ts'

const folder = mkdtempSync(join(tmpdir(), 'board-json-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** All members of a file's content, and the text after it. */
async function read(
  text: string | Uint8Array,
  maxBytes = 1_000_000,
): Promise<{ members: Member[]; rest: string | undefined }> {
  const path = join(folder, 'file.json')
  writeFileSync(path, text)
  const file = await open(path)
  try {
    const members: Member[] = []
    const scan = membersAt(file, (await firstByte(file))?.at ?? 0, maxBytes)
    for (;;) {
      const { done, value } = await scan.next()
      if (done) return { members, rest: (await firstByte(file, value))?.char }
      members.push(value)
    }
  } finally {
    await file.close()
  }
}

const spaced = (value: unknown, space: number) =>
  JSON.stringify(value, null, space).replaceAll('\n', space === 3 ? '\r\n\t' : '\n')

it('finds the members of any list and object, in any formatting', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.jsonValue()),
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.nat({ max: 3 }),
      async (list, object, space) => {
        expect((await read(spaced(list, space))).members.map(({ text }) => JSON.parse(text))).toEqual(
          JSON.parse(JSON.stringify(list)),
        )
        const { members } = await read(`\ufeff ${spaced(object, space)} \n`)
        expect(members.map(({ key, text }) => [key, JSON.parse(text)])).toEqual(
          Object.entries(JSON.parse(JSON.stringify(object))),
        )
      },
    ),
    { numRuns: 300 },
  )
})

it('reads values across the chunks of a file', async () => {
  for (const length of [65_530, 65_534, 65_535, 65_536, 65_537, 131_072]) {
    const list = [
      'x'.repeat(length),
      '"\\'.repeat(length / 4),
      'é'.repeat(length / 2),
      12.5e10,
      { deep: ['y'.repeat(length)] },
      true,
    ]
    const { members } = await read(JSON.stringify(list))
    expect(members.map(({ text }) => JSON.parse(text))).toEqual(list)
  }
})

it('reports the positions of members', async () => {
  const text = '{"a": [1, 2], "b" : "x" }'
  expect((await read(text)).members.map(({ key, start, end }) => [key, text.slice(start, end)])).toEqual([
    ['a', '[1, 2]'],
    ['b', '"x"'],
  ])
})

it.each([
  '[',
  '[1',
  '[1,',
  '[1,]',
  '[,1]',
  '[1 2]',
  '{',
  '{"a"',
  '{"a":',
  '{"a":1',
  '{"a":1,}',
  '{"a" 1}',
  '{a:1}',
  '{1:2}',
  '[1}',
  '{"a":1]',
  '["a',
  '["\\',
  '[}',
  '',
  '12',
  '"x"',
  'nonsense',
  '[:]',
  '{"a":,}',
  '[\u0001]',
])('rejects %j', async text => {
  await expect(read(text)).rejects.toThrow(BrokenJson)
})

it('rejects input that is too deep, too long, or not UTF-8', async () => {
  await expect(read(`[${'['.repeat(100_000)}`)).rejects.toThrow('nests deeper than 64 levels')
  await expect(read(`["${'x'.repeat(2000)}"]`, 1000)).rejects.toThrow('more than 1000 bytes')
  await expect(read(`{"${'k'.repeat(2000)}":1}`)).rejects.toThrow('a key of more than 1024 bytes')
  await expect(read(Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]))).rejects.toThrow('is not UTF-8')
})
