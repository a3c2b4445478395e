import LibsqlDatabase from 'libsql'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { createFairQueue } from '../../daemon/socket/fairQueue.ts'
import { frameOf } from '../../daemon/socket/frame.ts'
import { firstPageSize, pageSize } from '../../daemon/socket/replayPages.ts'
import { partsPerTick } from '../../daemon/socket/socketServer.ts'
import { floorWorks } from './floorWorks.ts'
import { serveParent } from './ipc.ts'

/**
 * The bare servers: node:http, one connection to a copy of the board's database with the same durability, and bare sockets,
 * each of which gets a frame for each created card, or the frames it missed. They validate nothing and have no other data.
 */
const { databaseFile } = JSON.parse(process.argv[2]!) as { databaseFile: string }
const database = new LibsqlDatabase(databaseFile)
for (const pragma of [
  'journal_mode = WAL',
  'synchronous = FULL',
  'foreign_keys = ON',
  'cache_size = -16000',
  'temp_store = MEMORY',
])
  database.exec(`PRAGMA ${pragma}`)

const make = floorWorks(database)
const made = new Map<string, RequestListener>()
let listener: RequestListener = (_, response) => response.end()
const server = createServer((request, response) => listener(request, response))

const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, clientTracking: true })
server.on('upgrade', (request, socket, head) =>
  sockets.handleUpgrade(request, socket, head, client => {
    client.on('message', () => {
      if (missed.length === 0) client.send('{"type":"subscribed"}')
      else void tellMissed(socket)
    })
  }),
)
/** The frames that sockets missed, in pages of the board's size, as bytes: all sockets get the same pages. */
let missed: Buffer[] = []
const turn = createFairQueue(partsPerTick)
async function tellMissed(socket: Duplex): Promise<void> {
  for (const page of missed) {
    socket.write(page)
    await turn()
  }
}
function pagesOf(messages: readonly string[]): Buffer[] {
  const pages: Buffer[] = []
  for (let at = 0, size = firstPageSize; at < messages.length; at += size, size = pages.length === 1 ? pageSize : size)
    pages.push(Buffer.concat(messages.slice(at, at + size).map(frameOf)))
  return pages
}

/** Sends the board's frame to all sockets in a loop when the card is written. */
const telling =
  (create: RequestListener, frame: Buffer): RequestListener =>
  (request, response) => {
    create(request, response)
    response.once('finish', () => {
      for (const client of sockets.clients) client.send(frame, { binary: false })
    })
  }

server.listen(0, '127.0.0.1', () =>
  serveParent((server.address() as AddressInfo).port, {
    use: async (job, sample) => {
      const key = JSON.stringify(job)
      const plain = made.get(key) ?? (await make(job, sample))
      made.set(key, plain)
      missed = pagesOf(sample.missed ?? [])
      listener = sample.frame === undefined ? plain : telling(plain, Buffer.from(sample.frame))
    },
    stop: () => {
      database.close()
    },
  }),
)
