import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { WebSocket } from 'undici'
import { eventually } from '../waiting/eventually.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- tests read any field of a server's message
export type Message = any

/** A real client of `/api/ws` that records all its messages. */
export interface LiveSocket {
  messages: Message[]
  /** The close code and reason, once it is closed. */
  closed: { code: number; reason: string } | undefined
  send(message: unknown): void
  /** The first message of the type, past or future, optionally the first that matches. */
  message(type: string, fits?: (message: Message) => boolean): Promise<Message>
  /** The seqs of all events so far. */
  seqs(): number[]
  untilClosed(timeoutMs?: number): Promise<{ code: number; reason: string }>
  close(): void
}

/** Opens a socket; the token is in the query unless headers are given. */
export async function openSocket(url: string, token?: string, headers?: Record<string, string>): Promise<LiveSocket> {
  const query = token === undefined || headers ? '' : `?token=${token}`
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/ws${query}`, { headers })
  const live: LiveSocket = {
    messages: [],
    closed: undefined,
    send: message =>
      socket.send(
        typeof message === 'string' || message instanceof Uint8Array ? (message as string) : JSON.stringify(message),
      ),
    message: (type, fits = () => true) =>
      eventually(`a message of type ${type}`, () =>
        live.messages.find(message => message.type === type && fits(message)),
      ),
    seqs: () =>
      live.messages
        .filter(message => message.seq !== undefined && message.type !== 'resync')
        .map(message => message.seq),
    untilClosed: timeoutMs => eventually('the end of the socket', () => live.closed, timeoutMs),
    close: () => socket.close(),
  }
  socket.addEventListener('message', event => live.messages.push(JSON.parse(event.data)))
  socket.addEventListener('close', ({ code, reason }) => {
    live.closed = { code, reason }
  })
  await eventually('an open socket', () => socket.readyState !== 0)
  return live
}

/** Opens a socket that already follows a project. */
export async function follow(url: string, token: string, projectId: string, since?: number): Promise<LiveSocket> {
  const live = await openSocket(url, token)
  live.send({ type: 'subscribe', payload: { projectId, since } })
  await live.message('subscribed')
  return live
}

/** A client that speaks the protocol byte for byte, and reads only on request. */
export interface RawSocket {
  socket: Socket
  received(): Buffer
  /** Sends a text frame, or a frame with another opcode. */
  frame(payload: string, opcode?: number): void
}

/** Sends an upgrade request verbatim, and waits for the head of the response, or for the end without one. */
export async function openRaw(url: string, path: string, headers: Record<string, string> = {}): Promise<RawSocket> {
  const { hostname, port, host } = new URL(url)
  const socket = connect(Number(port), hostname)
  const chunks: Buffer[] = []
  socket
    .on('data', chunk => chunks.push(chunk))
    .on('error', () => {
      /* The server can drop it. */
    })
  const all = {
    Host: host,
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
    ...headers,
  }
  socket.write(
    `GET ${path} HTTP/1.1\r\n${Object.entries(all)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n`,
  )
  await eventually("the answer's head", () => socket.destroyed || Buffer.concat(chunks).includes('\r\n\r\n'))
  // Keep the joined chunk, because some tests read repeatedly.
  const received = () => {
    if (chunks.length > 1) chunks.splice(0, chunks.length, Buffer.concat(chunks))
    return chunks[0] ?? Buffer.alloc(0)
  }
  return { socket, received, frame: (payload, opcode = 1) => socket.write(maskedFrame(Buffer.from(payload), opcode)) }
}

function maskedFrame(payload: Buffer, opcode: number): Buffer {
  const mask = randomBytes(4)
  const head =
    payload.length < 126
      ? Buffer.from([0x80 | opcode, 0x80 | payload.length])
      : Buffer.from([0x80 | opcode, 0x80 | 126, payload.length >> 8, payload.length & 255])
  return Buffer.concat([head, mask, payload.map((byte, index) => byte ^ mask[index % 4]!)])
}
