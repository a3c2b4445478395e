import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Faults } from './faults.ts'
import { Refused, type ForgeState } from './forgeState.ts'
import { answerWithGit } from './gitHttpBackend.ts'
import type { Answer, Routes, Wire } from './wire.ts'

/** A request to the forge. */
export interface ForgeRequest {
  method: string
  /** Without the query. */
  path: string
  query: string
  headers: Record<string, string>
  body: string
  /** The response status. */
  status: number
}

const rateLimit = 5000
const hourMs = 3_600_000

/** Listens on this machine. @returns its address */
export async function listen(server: Server): Promise<string> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The HTTP side of a forge: authentication, pages, conditional requests, rate limits, faults, and Git below /OWNER/NAME.git. */
export class ForgeServer {
  readonly requests: ForgeRequest[] = []
  readonly faults = new Faults()
  readonly tokens = new Map<string, string>()
  readonly server = createServer((request, response) => void this.#answer(request, response))
  #remaining = rateLimit
  #matchers: { method: string; pattern: RegExp; answer: Routes[string] }[] = []

  readonly state: ForgeState
  readonly repositoryPath: string
  readonly owner: string
  readonly name: string
  wire!: Wire
  url = ''

  constructor(state: ForgeState, { path, owner, name }: { path: string; owner: string; name: string }) {
    this.state = state
    this.repositoryPath = path
    this.owner = owner
    this.name = name
  }

  serve(wire: Wire): void {
    this.wire = wire
    this.#matchers = Object.entries(wire.routes)
      .map(([route, answer]) => {
        const [method, path] = route.split(' ') as [string, string]
        const pattern = path.replaceAll(
          /:(\w+)(\*?)/g,
          (_, name: string, many: string) => `(?<${name}>${many ? '.+' : '[^/]+'})`,
        )
        return {
          method,
          pattern: new RegExp(`^${pattern}$`),
          answer,
          words: path.split('/:').length + (path.endsWith('*') ? 100 : 0),
        }
      })
      .sort((a, b) => a.words - b.words)
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path, query = ''] = request.url!.split(/\?(.*)/s) as [string, string?]
    const entry: ForgeRequest = {
      method: request.method!,
      path,
      query,
      headers: request.headers as Record<string, string>,
      body: '',
      status: 0,
    }
    this.requests.push(entry)
    response.once('close', () => (entry.status = response.statusCode))
    try {
      const git = /^\/(.+?)(?:\.git)?(\/(?:info\/refs|git-(?:upload|receive)-pack))$/.exec(path)
      const fault = await this.faults.meet(`${request.method!} ${path}`, this.wire, response)
      if (fault === 'answered') return void request.resume()
      if (git) return await this.#answerGit(request, response, git[1]!, git[2]!, query)
      entry.body = await text(request)
      if (fault?.cutOff || fault?.loseAnswer) return this.#breakOff(entry, response, fault.cutOff === true)
      await this.#send(entry, response, fault?.answerAfter)
    } catch (error) {
      response.destroy(error as Error)
    }
  }

  #breakOff(entry: ForgeRequest, response: ServerResponse, begin: boolean): void {
    const { status = 200, body = {} } = this.#run(entry).answer
    if (!begin) return void response.destroy()
    const whole = JSON.stringify(body)
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': `${whole.length + 100}` })
    response.write(whole.slice(0, whole.length / 2), () => response.destroy())
  }

  #run(entry: ForgeRequest): { answer: Answer; path: string } {
    const prefix = this.wire.prefixes.find(each => each !== '' && entry.path.startsWith(`${each}/`)) ?? ''
    const path = entry.path.slice(prefix.length)
    const token = this.wire.token(entry.headers)
    const actor = token === undefined ? undefined : this.tokens.get(token)
    try {
      if (!entry.headers['user-agent'] && this.wire.prefixes.includes('/api/v3'))
        throw new Refused(
          403,
          'Request forbidden by administrative rules. Please make sure your request has a User-Agent header',
        )
      if (!this.wire.prefixes.includes(prefix)) throw new Refused(404, 'Not Found')
      if (actor === undefined)
        throw new Refused(401, this.wire.prefixes.includes('/api/v4') ? '401 Unauthorized' : 'Bad credentials')
      this.state.refresh(actor)
      return { path, answer: this.#route(entry, path, actor) }
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      const body = this.wire.refusal(error.status, error.message, error.details)
      return { path, answer: { status: error.status, body } }
    }
  }

  #route(entry: ForgeRequest, path: string, actor: string): Answer {
    for (const { method, pattern, answer } of this.#matchers) {
      const found = method === entry.method ? pattern.exec(path) : null
      if (!found) continue
      const params = Object.fromEntries(
        Object.entries(found.groups ?? {}).map(([name, value]) => [name, decodeURIComponent(value)]),
      )
      const named = params.project ?? (params.owner === undefined ? undefined : `${params.owner}/${params.repo!}`)
      if (named !== undefined && named !== '1' && named.toLowerCase() !== `${this.owner}/${this.name}`.toLowerCase())
        throw new Refused(404, 'Not Found')
      return answer!({ params, query: new URLSearchParams(entry.query), body: this.#parse(entry), actor })
    }
    throw new Refused(404, 'Not Found')
  }

  #parse({ body, headers }: ForgeRequest): Record<string, any> {
    if (body === '') return {}
    if (headers['content-type']?.startsWith('application/x-www-form-urlencoded'))
      return Object.fromEntries(new URLSearchParams(body))
    try {
      return JSON.parse(body) as Record<string, any>
    } catch {
      throw new Refused(400, 'Problems parsing JSON')
    }
  }

  async #send(entry: ForgeRequest, response: ServerResponse, after?: Promise<unknown>): Promise<void> {
    const { status = 200, headers = {}, body, list, wrap } = this.#run(entry).answer
    const paged = list === undefined ? undefined : this.#paged(entry, list)
    const value = paged ? (wrap ? wrap(paged.items, list!.length) : paged.items) : body
    const sent = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
    await after
    const type = typeof value === 'string' ? 'text/plain; charset=utf-8' : 'application/json; charset=utf-8'
    const etag = `W/"${createHash('sha256').update(sent).digest('hex')}"`
    const isConditional = this.wire.conditional && entry.method === 'GET' && status === 200
    const isSame = isConditional && entry.headers['if-none-match']?.split(/,\s*/).includes(etag)
    // An unchanged (304) response costs nothing of the rate limit.
    if (!isSame) this.#remaining = Math.max(0, this.#remaining - 1)
    const resetAt = Math.ceil(Date.now() / hourMs) * 3600
    response.writeHead(isSame ? 304 : status, {
      ...(sent !== '' && !isSame && { 'content-type': type }),
      ...(isConditional && { etag, 'cache-control': 'private, max-age=60, s-maxage=60' }),
      ...this.wire.rateHeaders(rateLimit, this.#remaining, resetAt),
      ...paged?.headers,
      ...headers,
    })
    response.end(isSame ? undefined : sent)
  }

  #paged(entry: ForgeRequest, list: readonly unknown[]): { items: unknown[]; headers: Record<string, string> } {
    const query = new URLSearchParams(entry.query)
    const { size: name, usual, maxSize } = this.wire.pages
    const size = Math.min(maxSize, Math.max(1, Number(query.get(name)) || usual))
    const number = Math.max(1, Number(query.get('page')) || 1)
    const at = (page: number) => {
      query.set('page', `${page}`)
      return `${this.url}${entry.path}?${query.toString()}`
    }
    const headers = this.wire.pageHeaders({ number, size, total: list.length, at })
    return { items: list.slice((number - 1) * size, number * size), headers }
  }

  async #answerGit(
    request: IncomingMessage,
    response: ServerResponse,
    name: string,
    path: string,
    query: string,
  ): Promise<void> {
    const [, encoded = ''] = /^Basic (\S+)$/i.exec(request.headers.authorization ?? '') ?? []
    const [user = '', password = ''] = Buffer.from(encoded, 'base64').toString().split(/:(.*)/s)
    const actor = this.tokens.get(password) ?? this.tokens.get(user)
    if (actor === undefined) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="Git"' })
      return void response.end('Authentication failed\n')
    }
    if (name.toLowerCase() !== `${this.owner}/${this.name}`.toLowerCase()) {
      response.writeHead(404)
      return void response.end('Repository not found\n')
    }
    await answerWithGit(request, response, { path, query, repository: this.repositoryPath, user: actor })
    this.state.refresh(actor)
  }

  async close(): Promise<void> {
    this.faults.close()
    await closeServer(this.server)
  }
}

export const closeServer = (server: Server): Promise<void> =>
  new Promise(resolve => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
