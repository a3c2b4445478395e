import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'

/** One live socket of a client that only detects the ends of messages, because a usual client costs more than the servers under measurement. */
export interface Listener {
  /** When the first byte arrived after the last `send`; undefined until then. */
  firstByteAt: number | undefined
  /** The number of messages since it was opened. */
  messages: number
  /** Called for each message, with its time. */
  onMessage(text: () => string, at: number): void
  send(text: string): void
  close(): void
}

/** Opens a live socket and resolves when the server has accepted it. */
export function openListener(port: number, token: string): Promise<Listener> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const listener: Listener = {
      firstByteAt: undefined,
      messages: 0,
      onMessage: () => {},
      send: text => {
        listener.firstByteAt = undefined
        socket.write(maskedFrame(text))
      },
      close: () => socket.destroy(),
    }
    let isOpen = false
    let rest: Buffer | undefined
    socket.on('error', reject).on('close', () => reject(new Error('A socket was closed.')))
    socket.on('data', chunk => {
      const at = performance.now()
      rest = rest ? Buffer.concat([rest, chunk]) : chunk
      if (!isOpen) {
        const headEnd = rest.indexOf('\r\n\r\n')
        if (headEnd < 0) return
        if (!rest.subarray(0, headEnd).includes(' 101 '))
          return reject(new Error(`The server refused a socket: ${rest.toString('latin1', 0, headEnd)}`))
        isOpen = true
        rest = rest.subarray(headEnd + 4)
        resolve(listener)
      }
      if (rest.length > 0) listener.firstByteAt ??= at
      rest = takeMessages(rest, listener, at)
    })
    ask(socket, port, token)
  })
}

function ask(socket: Socket, port: number, token: string): void {
  socket.write(
    `GET /api/ws HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${token}\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
  )
}

/** Delivers each complete message, and returns the rest. Pings are ignored: no run here lasts half a minute. */
function takeMessages(bytes: Buffer, listener: Listener, at: number): Buffer | undefined {
  let start = 0
  while (bytes.length - start >= 2) {
    const [opcode, short] = [bytes[start]! & 15, bytes[start + 1]!]
    const headLength = short < 126 ? 2 : short === 126 ? 4 : 10
    if (bytes.length - start < headLength) break
    const length =
      short < 126 ? short : short === 126 ? bytes.readUInt16BE(start + 2) : Number(bytes.readBigUInt64BE(start + 2))
    const from = start + headLength
    if (bytes.length < from + length) break
    start = from + length
    if (opcode !== 1) continue
    listener.messages++
    listener.onMessage(() => bytes.toString('utf8', from, from + length), at)
  }
  return start === bytes.length ? undefined : bytes.subarray(start)
}

function maskedFrame(text: string): Buffer {
  const payload = Buffer.from(text)
  const mask = randomBytes(4)
  return Buffer.concat([
    Buffer.from([0x81, 0x80 | payload.length]),
    mask,
    payload.map((byte, index) => byte ^ mask[index % 4]!),
  ])
}
