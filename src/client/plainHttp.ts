import { connect, type Socket } from 'node:net'

/** One request, whole. */
export interface Asked {
  method: string
  headers: Record<string, string>
  body?: string
  signal?: AbortSignal
  /** How long nothing may come. 0: for ever. */ timeoutMs: number
}
export type AnswerHeaders = Record<string, string | string[] | undefined>
export interface Answer {
  status: number
  headers: AnswerHeaders
  bytes: Buffer
}

const mostHeadBytes = 64 * 1024
const mostIdleMs = 2000
/** Host -> connections that wait for another request, and how each stops waiting. They keep no process alive. */
const idle = new Map<string, { socket: Socket; stopWaiting: () => void }[]>()

/**
 * One HTTP/1.1 request over a plain connection, for short texts. A process that ends with its first answers spends a quarter of
 * its time in node:http; this is the part of it that such a process needs.
 * @throws whatever keeps the answer from coming, and the signal's reason
 */
export function exchangePlain(url: URL, asked: Asked): Promise<Answer> {
  const request = requestOf(url, asked)
  return new Promise((resolve, reject) => {
    const { socket, isKept } = openSocket(url)
    const reading = readAnswer(asked.method)
    reading.next()
    let heard = false
    const done = () => {
      stopListening()
      asked.signal?.removeEventListener('abort', abort)
    }
    const fail = (error: unknown) => {
      done()
      giveUp(socket)
      // A connection that was kept may have been closed meanwhile: what only reads is asked again on another one.
      if (
        isKept &&
        !heard &&
        isSafe(asked.method) &&
        (error as NodeJS.ErrnoException).code !== 'ETIMEDOUT' &&
        !asked.signal?.aborted
      )
        resolve(exchangePlain(url, asked))
      else reject(error as Error)
    }
    const abort = () => fail(asked.signal!.reason)
    const feed = (bytes?: Buffer) => {
      heard ||= bytes !== undefined
      try {
        const { done: isWhole, value } = reading.next(bytes)
        if (!isWhole) return
        done()
        if (value.reusable && bytes) keep(url.host, socket)
        else socket.destroy()
        resolve(value)
      } catch (error) {
        fail(error)
      }
    }
    const stopListening = listen(socket, {
      data: feed,
      end: () => feed(),
      error: fail,
      close: () => fail(broken()),
      timeout: () => fail(coded('ETIMEDOUT', 'timed out')),
    })
    socket.setTimeout(asked.timeoutMs).ref()
    if (asked.signal?.aborted) return abort()
    asked.signal?.addEventListener('abort', abort)
    socket.write(request)
  })
}

function openSocket(url: URL): { socket: Socket; isKept: boolean } {
  const kept = idle.get(url.host)?.pop()
  kept?.stopWaiting()
  return {
    socket:
      kept?.socket ??
      connect({ host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 80), noDelay: true }),
    isKept: kept !== undefined,
  }
}

const isSafe = (method: string) => method === 'GET' || method === 'HEAD'

/** Keeps a connection for the next request, for a shorter time than any server does. */
function keep(host: string, socket: Socket): void {
  const drop = () => {
    stopWaiting()
    idle.set(
      host,
      idle.get(host)!.filter(each => each.socket !== socket),
    )
    giveUp(socket)
  }
  const stopWaiting = listen(socket, { data: drop, end: drop, error: drop, close: drop, timeout: drop })
  idle.set(host, [...(idle.get(host) ?? []), { socket, stopWaiting }])
  socket.setTimeout(mostIdleMs).unref()
}

/** Listens until the returned function is called. */
function listen(
  socket: Socket,
  listeners: {
    data: (bytes: Buffer) => void
    end: () => void
    error: (error: Error) => void
    close: () => void
    timeout: () => void
  },
): () => void {
  for (const [event, listener] of Object.entries(listeners)) socket.on(event, listener)
  return () => {
    for (const [event, listener] of Object.entries(listeners)) socket.off(event, listener)
  }
}

const giveUp = (socket: Socket) =>
  socket
    .on('error', () => {
      /* Nobody waits for it any more. */
    })
    .destroy()

function requestOf({ host, pathname, search }: URL, { method, headers, body }: Asked): string {
  const length =
    body !== undefined || !/^(GET|HEAD|DELETE)$/.test(method)
      ? { 'content-length': String(Buffer.byteLength(body ?? '')) }
      : {}
  const lines = Object.entries({ host, ...headers, ...length, connection: 'keep-alive' }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  if (!/^[A-Z]+$/.test(method) || lines.some(line => !/^[!#$%&'*+.^`|~\w-]+: [\t\x20-\x7e]*\r\n$/.test(line)))
    throw coded('ERR_INVALID_CHAR', 'a header has a character that headers cannot have')
  return `${method} ${pathname}${search} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`
}

type Step<T> = Generator<void, T, Buffer | undefined>
type Read = Answer & { /** Another request may follow on the same connection. */ reusable: boolean }

/** Is given the bytes as they come, undefined at their end, and returns the answer as soon as it is whole. */
function* readAnswer(method: string): Step<Read> {
  const bytes = new Incoming()
  let head: Head
  do head = readHead(yield* bytes.until('\r\n\r\n', mostHeadBytes))
  while (head.status >= 100 && head.status < 200 && head.status !== 101)
  const { status, headers, version } = head
  const isEmpty = method === 'HEAD' || status === 204 || status === 304
  const chunked = /\bchunked\s*$/i.test(String(headers['transfer-encoding'] ?? ''))
  const length = chunked ? undefined : lengthOf(headers['content-length'])
  const body = isEmpty
    ? Buffer.alloc(0)
    : chunked
      ? yield* readChunks(bytes)
      : length === undefined
        ? yield* bytes.rest()
        : yield* bytes.take(length)
  const isClosed = version === '0' || /\bclose\b/i.test(String(headers.connection ?? ''))
  return {
    status,
    headers,
    bytes: body,
    reusable: !isClosed && (isEmpty || chunked || length !== undefined) && bytes.length === 0,
  }
}

interface Head {
  version: string
  status: number
  headers: AnswerHeaders
}

function readHead(text: string): Head {
  const [first = '', ...lines] = text.split('\r\n')
  const [, version, status] = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(first) ?? []
  if (version === undefined) throw coded('HPE_INVALID_CONSTANT', 'what answers does not speak HTTP')
  const headers = Object.create(null) as AnswerHeaders
  for (const line of lines) {
    const [, named, value] = /^([!#$%&'*+.^`|~\w-]+):[\t ]*(.*?)[\t ]*$/.exec(line) ?? []
    if (named === undefined) throw coded('HPE_INVALID_HEADER_TOKEN', 'the answer has a broken header')
    const name = named.toLowerCase()
    const before = headers[name]
    headers[name] =
      name === 'set-cookie'
        ? [before ?? [], value!].flat()
        : before === undefined
          ? value
          : `${String(before)}, ${value!}`
  }
  return { version, status: Number(status), headers }
}

function lengthOf(header: string | string[] | undefined): number | undefined {
  if (header === undefined) return undefined
  if (!/^\d{1,15}$/.test(String(header))) throw coded('HPE_INVALID_CONTENT_LENGTH', 'the answer has a broken length')
  return Number(header)
}

function* readChunks(bytes: Incoming): Step<Buffer> {
  const chunks: Buffer[] = []
  for (;;) {
    const size = /^([\da-f]{1,12})[\t ]*(?:;|$)/i.exec(yield* bytes.until('\r\n', mostHeadBytes))?.[1]
    if (size === undefined) throw coded('HPE_INVALID_CHUNK_SIZE', 'the answer has a broken chunk')
    if (Number.parseInt(size, 16) === 0) break
    chunks.push(yield* bytes.take(Number.parseInt(size, 16)))
    if ((yield* bytes.until('\r\n', 2)) !== '') throw coded('HPE_STRICT', 'the answer has a broken chunk')
  }
  while ((yield* bytes.until('\r\n', mostHeadBytes)) !== '');
  return Buffer.concat(chunks)
}

/** Bytes that come in pieces of any size. */
class Incoming {
  #pieces: Buffer[] = []
  length = 0

  #add(piece: Buffer): void {
    this.#pieces.push(piece)
    this.length += piece.length
  }

  /** The text before `end`, which goes too. */
  *until(end: string, most: number): Step<string> {
    for (let looked = 0; ;) {
      const all = this.#joined()
      const at = all.indexOf(end, Math.max(0, looked - end.length), 'latin1')
      if (at > most || (at < 0 && all.length > most + end.length))
        throw coded('HPE_HEADER_OVERFLOW', 'the answer has a line without an end')
      if (at >= 0) return this.#cut(at + end.length).toString('latin1', 0, at)
      looked = all.length
      yield* this.#more()
    }
  }

  *take(length: number): Step<Buffer> {
    while (this.length < length) yield* this.#more()
    return this.#cut(length)
  }

  *rest(): Step<Buffer> {
    for (let piece = yield; piece; piece = yield) this.#add(piece)
    return this.#cut(this.length)
  }

  *#more(): Step<void> {
    const piece = yield
    if (!piece) throw broken()
    this.#add(piece)
  }

  #joined(): Buffer {
    if (this.#pieces.length !== 1) this.#pieces = [Buffer.concat(this.#pieces)]
    return this.#pieces[0]!
  }

  #cut(length: number): Buffer {
    const all = this.#joined()
    this.#pieces = [all.subarray(length)]
    this.length = all.length - length
    return all.subarray(0, length)
  }
}

const broken = () => coded('ECONNRESET', 'the connection was broken off')
const coded = (code: string, message: string) => Object.assign(new Error(message), { code })
