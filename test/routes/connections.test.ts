import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: TestBoard
beforeAll(async () => {
  board = await startBoard()
})
afterAll(() => board.close())

const request = () => `GET /api/projects HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${board.token}\r\n\r\n`
const open = () => connect({ port: Number(new URL(board.url).port), host: '127.0.0.1', noDelay: true })

/** Sends another request after each response until all clients were answered, and records the order of the responses. */
function ask(socket: Socket, name: number, answered: number[], isEnough: () => boolean): void {
  socket.on('data', chunk => {
    if (!chunk.includes('HTTP/1.1 200')) return
    answered.push(name)
    if (isEnough()) socket.destroy()
    else socket.write(request())
  })
  socket.on('error', () => {
    /* The server can have closed it. */
  })
  socket.write(request())
}

it('of concurrent clients, the last is answered before any other is for the third time', async () => {
  const count = 32
  const answered: number[] = []
  const isEnough = () => new Set(answered).size === count
  for (let name = 0; name < count; name++) ask(open(), name, answered, isEnough)
  await eventually('an answer for each', isEnough)
  const times = Array.from({ length: count }, (_, name) => answered.filter(each => each === name).length)
  expect(Math.max(...times)).toBeLessThan(4)
})

it('an endless stream of clients blocks none', async () => {
  const asking = open()
  await once(asking, 'connect')
  let isAnswered = false
  const others = new Set<Socket>()
  const come = () => {
    if (isAnswered) return
    for (let more = 0; more < 4; more++) {
      const other = open()
      others.add(other)
      other.on('connect', () => other.destroy()).on('close', () => others.delete(other))
      other.on('error', () => {
        /* It is closed. */
      })
    }
    setImmediate(come)
  }
  come()
  const answer = once(asking, 'data')
  asking.write(request())
  expect(String((await answer)[0])).toMatch(/^HTTP\/1.1 200/)
  isAnswered = true
  asking.destroy()
  await eventually('the end of the others', () => others.size === 0)
})
