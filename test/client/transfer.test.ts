import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, Unreachable } from '../../src/client/index.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
beforeAll(async () => {
  board = await startBoard()
})
afterAll(() => board.close())

test.each([
  ['metrics', /^board_log_dropped_total/m],
  ['openapi', /"openapi":"3\.1/],
  ['docs', /<html/],
  ['home', /\S/],
] as const)('server.%s returns the response, although it has no file name', async (name, content) => {
  const answer = await createClient(board).server[name]()
  expect([await text(answer.body), answer.filename]).toEqual([expect.stringMatching(content), undefined])
})

test.each(['text/plain', 'text/html', 'application/json'])(
  'a response of another program in %s is not accepted as a file or metrics of a board',
  async type => {
    const other = createServer((_, answer) => void answer.setHeader('content-type', type).end('{}')).listen(
      0,
      '127.0.0.1',
    )
    await once(other, 'listening')
    const client = createClient({ url: `http://127.0.0.1:${(other.address() as AddressInfo).port}` })
    await expect(client.server.metrics()).rejects.toThrow(Unreachable)
    await expect(client.backups.download({ filename: 'a' })).rejects.toThrow(Unreachable)
    other.closeAllConnections()
    other.close()
  },
)

test('a server that disconnects in the middle of its response to an upload is reported as unreachable', async () => {
  const dying = createServer((request, answer) => {
    request.resume().on('end', () => {
      answer.writeHead(201, { 'content-type': 'application/json', 'content-length': '100' }).write('{')
      setTimeout(() => request.socket.destroy(), 20)
    })
  }).listen(0, '127.0.0.1')
  await once(dying, 'listening')
  const client = createClient({ url: `http://127.0.0.1:${(dying.address() as AddressInfo).port}` })
  const file = { path: import.meta.filename }
  await expect(client.attachments.create({ projectId: '1', cardId: '1', file })).rejects.toThrow(Unreachable)
  dying.close()
})
