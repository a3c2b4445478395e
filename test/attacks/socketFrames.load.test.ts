import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { openRaw, openSocket, type RawSocket } from '../support/receivers/liveSocket.ts'

let board: TestBoard
beforeAll(async () => {
  board = await startBoard()
})
afterAll(() => board.close())

const open = () => openRaw(board.url, `/api/ws?token=${board.token}`)

/** A frame that no library sends. `first` is FIN, the reserved bits and the opcode. */
function frame(first: number, payload: Buffer, { length = payload.length, isMasked = true } = {}): Buffer {
  const mask = randomBytes(4)
  const size =
    length < 126
      ? Buffer.from([length])
      : length < 65_536
        ? Buffer.from([126, length >> 8, length & 255])
        : Buffer.concat([Buffer.from([127]), Buffer.from(BigInt(length).toString(16).padStart(16, '0'), 'hex')])
  size[0]! |= isMasked ? 0x80 : 0
  return Buffer.concat([
    Buffer.from([first]),
    size,
    ...(isMasked ? [mask, payload.map((byte, at) => byte ^ mask[at % 4]!)] : [payload]),
  ])
}
const closeCode = ({ received }: RawSocket): number | undefined => {
  const rest = received().subarray(received().indexOf('\r\n\r\n') + 4)
  const at = rest.indexOf(0x88)
  return at < 0 ? undefined : rest.readUInt16BE(at + 2)
}
const ends = async (raw: RawSocket) => {
  await eventually('the end of the socket', () => raw.socket.destroyed || closeCode(raw))
  const code = closeCode(raw)
  raw.socket.destroy()
  return code
}
const stillServes = async () => {
  const live = await openSocket(board.url, board.token)
  live.send({ type: 'ping' })
  await live.message('pong')
  live.close()
}

it.each<[string, () => Buffer, number]>([
  ['that announces more bytes than the memory has', () => frame(0x81, Buffer.from('{'), { length: 2 ** 40 }), 1009],
  [
    'that announces 2^53 bytes and more',
    () => Buffer.from([0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]),
    1009,
  ],
  ['without a mask', () => frame(0x81, Buffer.from('{"type":"ping"}'), { isMasked: false }), 1002],
  ['with a reserved bit, as if it were compressed', () => frame(0xc1, Buffer.from('{"type":"ping"}')), 1002],
  ['with an unknown opcode', () => frame(0x83, Buffer.from('x')), 1002],
  ['that continues no message', () => frame(0x80, Buffer.from('x')), 1002],
  ['with a fragmented ping', () => frame(0x09, Buffer.from('x')), 1002],
  ['that pings with 126 bytes', () => frame(0x89, Buffer.alloc(126)), 1002],
  ['that closes with an invalid code', () => frame(0x88, Buffer.from([0, 1])), 1002],
])('a frame %s ends its socket and no other', async (_, bytes, code) => {
  const raw = await open()
  raw.socket.write(bytes())
  expect(await ends(raw)).toBe(code)
  await stillServes()
})

it('a message in endless fragments is closed at the maximum message size', async () => {
  const raw = await open()
  raw.socket.write(frame(0x01, Buffer.from('{"type":"')))
  const part = frame(0x00, Buffer.alloc(1024, 'x'))
  for (let sent = 0; sent < 200 && closeCode(raw) === undefined && !raw.socket.destroyed; sent++)
    await new Promise(resolve => raw.socket.write(part, resolve))
  expect(await ends(raw)).toBe(1009)
  await stillServes()
})

it('a message of empty fragments costs no memory, and delays no other socket', async () => {
  const raw = await open()
  const before = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed
  raw.socket.write(frame(0x01, Buffer.alloc(0)))
  const many = Buffer.concat(Array.from({ length: 10_000 }, () => frame(0x00, Buffer.alloc(0))))
  for (let sent = 0; sent < 30 && !raw.socket.destroyed; sent++)
    await new Promise(resolve => raw.socket.write(many, resolve))
  await stillServes()
  expect(process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed - before).toBeLessThan(64 * 1024 * 1024)
  raw.socket.destroy()
})

it('binary messages count like others: a flood of them is closed with 4008', async () => {
  const raw = await open()
  for (let sent = 0; sent < 200; sent++) raw.socket.write(frame(0x82, randomBytes(16)))
  expect(await ends(raw)).toBe(4008)
  await stillServes()
})

it('unsolicited pongs are not messages, and a flood of them delays no other client', async () => {
  const raw = await open()
  const many = Buffer.concat(Array.from({ length: 5000 }, () => frame(0x8a, Buffer.from('x'))))
  for (let sent = 0; sent < 10 && !raw.socket.destroyed; sent++)
    await new Promise(resolve => raw.socket.write(many, resolve))
  await stillServes()
  raw.socket.destroy()
})
