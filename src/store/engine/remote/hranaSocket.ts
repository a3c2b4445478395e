import { WebSocket } from 'ws'
import type { Connection, Stream, StepResult } from './hrana.ts'
import { decode, type ServerMessage } from './hranaDecoding.ts'
import { encodeBatch, encodeCloseStream, encodeHello, encodeOpenStream } from './hranaEncoding.ts'

/** The protocol version that can query whether a transaction is still open. */
const protocol = 'hrana3-protobuf'
const olderProtocols = ['hrana2', 'hrana1']
const maxNumber = 2 ** 31

interface Pending {
  resolve(results: Array<StepResult | undefined>): void
  reject(error: unknown): void
}

/** Opens a connection to a libSQL server over a WebSocket, on which streams can stay open. */
export function openHranaSocket(url: string, token?: string): Connection {
  const socket = new WebSocket(url, [protocol, ...olderProtocols], { perMessageDeflate: false })
  let early: Buffer[] | undefined = [encodeHello(token)]
  const requests = openRequests(message => {
    if (early) early.push(message)
    else socket.send(message)
  })
  const close = (reason: unknown) => {
    requests.close(reason)
    socket.close()
  }
  let lastStream = 0
  socket.on('open', () => {
    if (socket.protocol !== protocol)
      return close(
        new Error(
          `The database server speaks ${socket.protocol} of the Hrana protocol; the board requires ${protocol}.`,
        ),
      )
    for (const message of early ?? []) socket.send(message)
    early = undefined
  })
  socket.on('message', data => {
    try {
      requests.handle(decode(data as Buffer))
    } catch (error) {
      close(error)
    }
  })
  socket.on('error', close)
  socket.on('close', (code, reason) =>
    requests.close(new Error(`The database server has closed the connection: ${code} ${reason.toString()}`)),
  )
  return {
    openStream: () => {
      lastStream = (lastStream + 1) % maxNumber
      return openSocketStream(lastStream, requests.ask)
    },
    get closed() {
      return requests.closed
    },
    close: () => close(new Error('The connection to the database server was closed.')),
  }
}

/** The requests on a connection that wait for their answers. */
interface Requests {
  /** @throws ServerError, or the reason why the connection was closed */
  ask(encode: (request: number) => Buffer): Promise<Array<StepResult | undefined>>
  /** @throws an error after which the connection is unusable */
  handle(message: ServerMessage): void
  close(reason: unknown): void
  readonly closed: boolean
}

function openRequests(send: (message: Buffer) => void): Requests {
  const pending = new Map<number, Pending>()
  let last = 0
  let closed: { reason: unknown } | undefined
  return {
    ask: encode =>
      new Promise((resolve, reject) => {
        if (closed) return reject(closed.reason)
        last = (last + 1) % maxNumber
        const message = encode(last)
        pending.set(last, { resolve, reject })
        send(message)
      }),
    handle: message => {
      if (message.type === 'hello' || closed) return
      if (message.type === 'refusal') throw message.error
      const asked = pending.get(message.request)
      if (!asked) throw new Error('The database server sent a response to an unknown request.')
      pending.delete(message.request)
      if (message.type === 'failure') asked.reject(message.error)
      else asked.resolve(message.results)
    },
    close: reason => {
      closed ??= { reason }
      for (const asked of pending.values()) asked.reject(closed.reason)
      pending.clear()
    },
    get closed() {
      return closed !== undefined
    },
  }
}

function openSocketStream(id: number, request: Requests['ask']): Stream {
  let closed: { reason: unknown } | undefined
  const close = (reason: unknown) => {
    if (closed) return
    closed = { reason }
    request(number => encodeCloseStream(number, id)).catch(ignore)
  }
  request(number => encodeOpenStream(number, id)).catch(close)
  return {
    batch: async steps => {
      if (closed) throw closed.reason
      const results = await request(number => encodeBatch(number, id, steps))
      return steps.map((_, at) => results[at] ?? { isLeftOut: true })
    },
    get closed() {
      return closed !== undefined
    },
    close: () => close(new Error('The stream was closed.')),
  }
}

const ignore = () => {
  /* The streams were closed with the connection. */
}
