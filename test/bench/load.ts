import { connect } from 'node:net'

export interface Exchange {
  method: string
  path: string
  body?: unknown
}

/** The results of a server under load. */
export interface Load {
  requests: number
  /** Unsuccessful responses, broken connections, and requests without a response. */
  failures: number
  /** The first failure, for the message. */
  firstFailure?: string
  secs: number
  latenciesMs: number[]
}
export interface Drive {
  port: number
  clients: number
  durationMs: number
  token: string
  next: () => Exchange
}

const patienceMs = 10_000

/**
 * Loads a server through keep-alive connections, each of which sends its next request when the last response is complete.
 * It implements HTTP, because a usual client costs more than the servers under measurement.
 */
export async function drive({ port, clients, durationMs, token, next }: Drive): Promise<Load> {
  const load: Load = { requests: 0, failures: 0, secs: 0, latenciesMs: [] }
  const startedAt = performance.now()
  const endsAt = startedAt + durationMs
  const count = (answered: number | string, latencyMs: number) => {
    load.requests++
    load.latenciesMs.push(latencyMs)
    if (typeof answered === 'number' && answered < 300) return
    load.failures++
    load.firstFailure ??= String(answered)
  }
  await Promise.all(Array.from({ length: clients }, () => client(port, endsAt, () => toText(next(), token), count)))
  return { ...load, secs: (performance.now() - startedAt) / 1000 }
}

function toText({ method, path, body }: Exchange, token: string): string {
  const head = `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\nuser-agent: bench\r\naccept: */*\r\n`
  if (body === undefined) return `${head}\r\n`
  const text = JSON.stringify(body)
  return `${head}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
}

/** One connection, until the time is over or it breaks. */
function client(
  port: number,
  endsAt: number,
  next: () => string,
  count: (answered: number | string, latencyMs: number) => void,
): Promise<void> {
  return new Promise(resolve => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    let received: Buffer | undefined
    let sentAt: number | undefined
    const send = () => {
      sentAt = performance.now()
      socket.write(next())
    }
    const end = (failure: string) => {
      clearTimeout(timer)
      if (sentAt !== undefined) count(failure, performance.now() - sentAt)
      sentAt = undefined
      socket.destroy()
      resolve()
    }
    const timer = setTimeout(() => end('no answer'), endsAt - performance.now() + patienceMs)
    socket
      .on('connect', send)
      .on('error', error => end(error.message))
      .on('close', () => end('connection closed'))
    socket.on('data', chunk => {
      received = received ? Buffer.concat([received, chunk]) : chunk
      if (!isWhole(received)) return
      count(statusOf(received), performance.now() - sentAt!)
      received = sentAt = undefined
      if (performance.now() < endsAt) send()
      else end('')
    })
  })
}

const statusOf = (answer: Buffer) => Number(answer.toString('latin1', 9, 12))

/** Whether a response is complete. A JSON text contains no line break, so it cannot contain the mark of the last chunk. */
function isWhole(answer: Buffer): boolean {
  const headEnd = answer.indexOf('\r\n\r\n')
  if (headEnd < 0) return false
  const head = answer.toString('latin1', 0, headEnd)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)
  if (length) return answer.length >= headEnd + 4 + Number(length[1])
  return !/\r\ntransfer-encoding: *chunked/i.test(head) || answer.toString('latin1', answer.length - 5) === '0\r\n\r\n'
}
