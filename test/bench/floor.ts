import LibsqlDatabase from 'libsql'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import { floorWorks } from './floorWorks.ts'
import { serveParent } from './ipc.ts'

/**
 * The bare servers: node:http, one connection to a copy of the board's database with the same durability, and bare sockets,
 * each of which gets a frame for each card that is created. They check nothing and know nothing else.
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
    client.on('message', () => client.send('{"type":"subscribed"}'))
  }),
)
/** What the board's frames are like, sent to all in a loop when the card is written. */
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
      listener = sample.frame === undefined ? plain : telling(plain, Buffer.from(sample.frame))
    },
    stop: () => {
      database.close()
    },
  }),
)
