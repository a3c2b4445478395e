import type { IncomingMessage } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { App } from '../src/app.ts'
import { contract } from '../src/contract/index.ts'
import { Problem } from '../src/contract/errors.ts'
import type { Route } from '../src/contract/route.ts'
import type { Caller } from '../src/domain/caller.ts'
import { wouldStart, type NewCard } from '../src/domain/cards.ts'
import { passHeader, signPass } from '../src/identity/passes.ts'
import { readWorker, type Worker } from '../src/store/daemons.ts'
import { projectOf } from './authorize.ts'
import type { Call } from './handlers.ts'

/** Who has passed a request on. One that carries it is answered where it arrives. */
const passedOnHeader = 'x-board-passed-on'
/** What belongs to one connection, and what the other daemon says for itself. */
const ownHeaders = new Set(['connection', 'keep-alive', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'proxy-authorization', 'proxy-authenticate', 'host', 'origin', 'expect', 'authorization', 'cookie', 'content-length', passHeader, passedOnHeader])
const connectMs = 2000
const [mostWaitMs, lookMs, aliveMs] = [2500, 200, 10_000]
const answerMs = 10 * 60_000
/** What is a write and no more is answered as soon as one. */
const writeMs = 2500

/**
 * Passes a request on to the daemon that works for the machine which has the project's folder, where the route needs that machine
 * and this daemon is not the one. Undefined where the request is answered here.
 * @param body what has been read of the request's body already, if it has been
 * @throws Problem MACHINE_UNAVAILABLE when no daemon works there at present
 */
export async function passOn(app: App, route: Route, call: Call, input: Record<string, unknown>, body?: unknown): Promise<Response | undefined> {
  if (route.at === undefined || !app.db.isShared) return undefined
  // A card that no agent starts for is made alike by every daemon, without the way to another one.
  const card = route === contract.cards.create ? body as NewCard : undefined
  if (card?.deferred) return undefined
  const projectId = await projectOf(app.db, route, input)
  const worker = projectId === undefined ? undefined : await findWorker(app, projectId, route.at)
  if (!worker || worker.host === null || worker.daemonId === app.membership.id || (worker.host === app.db.host && app.membership.has('machine'))) return undefined
  if (card && !await wouldStart(app.db, card)) return undefined
  if (worker.url === null || call.request.headers[passedOnHeader] !== undefined) {
    if (route.at === 'machine or here') return undefined
    throw unavailable(worker.host)
  }
  return send(app, call, { host: worker.host, url: worker.url, daemonId: worker.daemonId!, mostMs: route.at === 'machine' ? answerMs : writeMs }, body)
}

/** A daemon that was there a moment ago is waited for, or the one that takes over from it. */
async function findWorker({ db, membership }: App, projectId: number, at: Route['at']): Promise<Worker | undefined> {
  for (const giveUpAt = performance.now() + mostWaitMs; ; await delay(lookMs)) {
    const worker = await readWorker(db, projectId)
    const mayCome = worker !== undefined && worker.daemonId === null && worker.seenMsAgo !== null && worker.seenMsAgo < aliveMs && !(worker.host === db.host && membership.has('machine'))
    if (!mayCome || at === 'machine or here' || performance.now() > giveUpAt) return worker
  }
}

const unavailable = (host: string, cause?: unknown) => new Problem('MACHINE_UNAVAILABLE', `No daemon works on the machine ${host} at present, which has the project's folder.`, { retryAfterSecs: 2, cause })

async function send(app: App, { caller, request: req, signal }: Call, to: { host: string; url: string; daemonId: string; mostMs: number }, body: unknown): Promise<Response> {
  const { Agent, request } = await import('../src/client/undici.ts')
  const dispatcher = agents.get(app) ?? new Agent({ connect: { timeout: connectMs }, bodyTimeout: answerMs })
  agents.set(app, dispatcher)
  const method = req.method as 'GET'
  // Who sends a stream on ends it; the request itself is still needed for its answer.
  const sends = body !== undefined ? JSON.stringify(body) : hasBody(req) ? req.pipe(new PassThrough()) : undefined
  try {
    const answer = await request(to.url.replace(/\/$/, '') + req.url!, { method, dispatcher, signal, headersTimeout: to.mostMs, headers: headersFor(app, caller, req, to), body: sends })
    const isEmpty = method === ('HEAD' as string) || answer.statusCode === 204 || answer.statusCode === 304
    if (isEmpty) await answer.body.dump()
    const headers = Object.entries(answer.headers).flatMap(([name, value]) => ownHeaders.has(name) && name !== 'content-length' || value === undefined ? [] : [[name, String(value)] as [string, string]])
    return new Response(isEmpty ? null : streamOf(answer.body), { status: answer.statusCode, headers })
  } catch (error) {
    throw unavailable(to.host, error)
  }
}

/** Node's own way to make a stream for the web of one of its own ends the process when the client goes away. */
function streamOf(body: Readable): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
  return new ReadableStream({
    pull: async controller => {
      const { done, value } = await chunks.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: () => { body.on('error', () => { /* Nobody waits for it any more. */ }).destroy() },
  })
}

/** Connections to the other daemons, as long as the board is open. */
const agents = new WeakMap<App, InstanceType<(typeof import('../src/client/undici.ts'))['Agent']>>()

const hasBody = ({ headers }: IncomingMessage) => headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/** A token that every daemon knows goes along; for whoever has none, this daemon vouches. */
function headersFor(app: App, caller: Caller, req: IncomingMessage, { daemonId }: { daemonId: string }): Record<string, string> {
  const kept = Object.entries(req.headers).flatMap(([name, value]) => ownHeaders.has(name) || value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]])
  const pass = { method: req.method!, url: req.url!, daemonId, expiresAtMs: Date.now() + 10_000 }
  return {
    ...Object.fromEntries(kept) as Record<string, string>, [passedOnHeader]: app.membership.id,
    ...caller.kind === 'local' ? { [passHeader]: signPass(app.seal, pass) } : { authorization: req.headers.authorization! },
  }
}
