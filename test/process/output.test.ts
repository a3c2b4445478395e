import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { createTail, linesOf, tailOf } from '../../src/process/output.ts'

const streamOf = (chunks: ReadonlyArray<Buffer | string>) =>
  Readable.from(
    chunks.map(chunk => Buffer.from(chunk)),
    { objectMode: false },
  )
const readLines = async (chunks: ReadonlyArray<Buffer | string>, maxBytes = 100) => {
  const lines = []
  for await (const line of linesOf(streamOf(chunks), maxBytes)) lines.push(line)
  return lines
}

test('the last bytes of an output are kept, in whole characters', async () => {
  const tail = createTail(10)
  expect(tail.text()).toBe('')
  tail.add(Buffer.from('hello'))
  expect(tail.text()).toBe('hello')
  tail.add(Buffer.from(' world, ää'))
  expect(tail.text()).toBe('orld, ää')
  tail.add(Buffer.from('ü'.repeat(100)))
  expect(tail.text()).toBe('ü'.repeat(5))
  tail.add(Buffer.from('aé').subarray(0, 2))
  expect(tail.text()).toBe('üüüüa')
})

test('a tail stores an endless output in limited memory', async () => {
  const stream = Readable.from(
    (function* () {
      for (let index = 0; index < 20_000; index++) yield Buffer.from(`line ${index}\n`)
    })(),
    { objectMode: false },
  )
  const tail = tailOf(stream, 1000)
  await new Promise(resolve => stream.on('end', resolve))
  expect(tail.text().length).toBeLessThanOrEqual(1000)
  expect(tail.text()).toMatch(/line 19999\n$/)
})

test('lines are complete, at any split of the bytes', async () => {
  const bytes = Buffer.from('one\r\ntwö\n\nlast')
  const expected = ['one', 'twö', '', 'last'].map(text => ({ text, isCut: false }))
  expect(await readLines([bytes])).toEqual(expected)
  expect(await readLines([...bytes].map(byte => Buffer.from([byte])))).toEqual(expected)
  expect(await readLines([])).toEqual([])
})

test('the beginning of a line that is too long is kept, and the next line is complete', async () => {
  expect(await readLines(['x'.repeat(1000), 'y'.repeat(1000), '\nnext\n', 'ä'.repeat(60)], 99)).toEqual([
    { text: 'x'.repeat(99), isCut: true },
    { text: 'next', isCut: false },
    { text: 'ä'.repeat(49), isCut: true },
  ])
})
