import { Readable } from 'node:stream'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeMessage, readMessages, type Message } from '../../src/worktrees/messages.ts'

const readAll = async (chunks: Buffer[]): Promise<Message[]> => {
  const messages: Message[] = []
  for await (const message of readMessages(Readable.from(chunks))) messages.push(message)
  return messages
}

test('messages arrive unchanged, at any split of the stream', async () => {
  const sent = fc.record({ text: fc.string(), bytes: fc.uint8Array({ maxLength: 50 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(sent, { maxLength: 5 }), fc.array(fc.nat(40)), async (messages, sizes) => {
      let stream = Buffer.concat(messages.flatMap(({ text, bytes }) => encodeMessage({ text }, Buffer.from(bytes))))
      const chunks: Buffer[] = []
      for (const size of sizes) {
        chunks.push(stream.subarray(0, size))
        stream = stream.subarray(size)
      }
      const received = await readAll([...chunks, stream].filter(chunk => chunk.length > 0))
      expect(received.map(({ head, bytes }) => [head.text, [...bytes]])).toEqual(
        messages.map(({ text, bytes }) => [text, [...bytes]]),
      )
    }),
  )
})

test.each([
  ['text that is not JSON', 'x\n', /JSON/],
  ['a value that is not an object', '1\n', /not an object/],
  ['an object without a number of bytes', '{}\n', /number of bytes/],
  ['a negative number of bytes', '{"bytes":-1}\n', /number of bytes/],
  ['more bytes than allowed', '{"bytes":536870913}\n', /number of bytes/],
  ['fewer bytes than stated', '{"bytes":5}\nabc', /cut off/],
  ['a line without an end', '{"bytes":0}', /cut off/],
  ['a line that is too long', ' '.repeat(16 * 1024 * 1024 + 1), /too long/],
])('%s is rejected', async (_, text, reason) => {
  await expect(readAll([Buffer.from(text)])).rejects.toThrow(reason)
})
