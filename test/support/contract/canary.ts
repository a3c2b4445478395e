import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { run } from '../commands/commandLine.ts'
import { type Reply, type RequestOptions } from '../servers/testBoard.ts'
import { eventually } from '../waiting/eventually.ts'
import { openSocket } from '../receivers/liveSocket.ts'
import { processIds, readProcessFile } from '../processes/processFiles.ts'

/** A value that only its owner can read. `shownIn`: the names of the responses that contain it. */
export interface Secret {
  what: string
  value: string | Buffer
  shownIn: string[]
}

/** A server in a separate process, with all its outputs. */
export interface Canary {
  url: string
  dataDir: string
  secrets: Secret[]
  answers: Array<{ name: string; text: string }>
  /** The stdout and stderr of the servers. */
  log(): string
  /** The argument lists of this machine's processes, which are recorded repeatedly. */
  commandLines: Set<string>
  /** The current files of the data folder. */
  files(): Array<{ name: string; bytes: Buffer }>
  /** Registers a secret, and returns it. */
  keep<T extends string | Buffer>(what: string, value: T, ...shownIn: string[]): T
  /** Sends a request and records its response. */
  ask(name: string, method: string, path: string, options?: RequestOptions): Promise<Reply>
  /** Opens a socket with this token, sends it, and records the responses. */
  listen(name: string, token: string): Promise<void>
  /** Records another output. */
  note(name: string, text: string): void
  start(env: Record<string, string>): Promise<void>
  stop(): Promise<void>
  close(): Promise<void>
}

const program = resolve(import.meta.dirname, '../../../bin/board.js')
const patienceMs = 60_000

export function createCanary(): Canary {
  const root = mkdtempSync(join(tmpdir(), 'board-canary-'))
  const dataDir = join(root, 'data')
  mkdirSync(join(root, 'home'))
  const written: string[] = []
  const watch = watchCommandLines()
  let server: ChildProcess | undefined
  const canary: Canary = {
    url: '',
    dataDir,
    secrets: [],
    answers: [],
    log: () => written.join(''),
    commandLines: watch.seen,
    files: () => filesIn(dataDir),
    keep: (what, value, ...shownIn) => {
      canary.secrets.push({ what, value, shownIn })
      return value
    },
    note: (name, text) => {
      canary.answers.push({ name, text })
    },
    ask: async (name, method, path, options = {}) => {
      const reply = await send(canary.url + path, method, options)
      canary.note(name, `${reply.status} ${[...reply.headers].join('\n')}\n${reply.text}`)
      return reply
    },
    listen: async (name, token) => {
      const live = await openSocket(canary.url, token)
      for (const message of [{ type: token }, { type: 'subscribe', payload: { projectId: token } }]) live.send(message)
      await eventually(
        'an answer on the socket',
        () => live.closed ?? (live.messages.length > 1 || undefined),
        patienceMs,
      )
      live.close()
      canary.note(name, JSON.stringify([live.messages, live.closed]))
    },
    start: async env => {
      server = spawn(
        process.execPath,
        [program, 'serve', '--port', '0', '--data-dir', dataDir, '--log-level', 'info', '--trust-proxy'],
        { env: { PATH: process.env.PATH ?? '', HOME: join(root, 'home'), ...env }, stdio: ['ignore', 'pipe', 'pipe'] },
      )
      const said: string[] = []
      for (const stream of [server.stdout!, server.stderr!])
        stream.setEncoding('utf8').on('data', (text: string) => {
          said.push(text)
          written.push(text)
        })
      canary.url = await eventually(
        'the server to listen or to end',
        () =>
          /Listening on (\S+)/.exec(said.join(''))?.[1] ??
          (server!.exitCode === null ? undefined : `ended with ${server!.exitCode}`),
        patienceMs,
      )
    },
    stop: async () => {
      if (server?.exitCode === null) server.kill('SIGTERM')
      await eventually(
        'the server to end',
        () => server === undefined || server.exitCode !== null || server.signalCode !== null,
        patienceMs,
      )
    },
    close: async () => {
      await canary.stop()
      await watch.stop()
      rmSync(root, { recursive: true, force: true })
    },
  }
  return canary
}

/** Creates valid and invalid webhooks, and has them deliver to a closed port. Some of the error responses repeat their input. */
export async function useWebhooks(
  { ask, keep }: Canary,
  token: string,
  projectId: string,
  target: string,
): Promise<void> {
  const path = `/api/projects/${projectId}/webhooks`
  const webhook = { url: `${target}/hook`, events: ['card.created'] }
  const {
    body: { data },
  } = await ask('create a webhook', 'POST', path, { token, body: webhook, headers: { 'idempotency-key': 'webhook' } })
  const secret = keep('the secret of a webhook', data.secret as string, 'create a webhook')
  keep("the bytes of a webhook's secret", Buffer.from(secret.slice('whsec_'.length), 'base64'), 'create a webhook')
  keep(
    'a rotated secret of a webhook',
    (await ask('rotate a webhook', 'POST', `${path}/${data.id}/rotate`, { token })).body.data.secret as string,
    'rotate a webhook',
  )
  for (const [name, wrong] of [
    ['with its own secret', { ...webhook, secret }],
    ['with a secret for an event', { ...webhook, events: [secret] }],
    ['with a secret in the address', { ...webhook, url: `http://user:${secret}@127.0.0.1/` }],
  ] as const)
    await ask(`create a webhook ${name}`, 'POST', path, { token, body: wrong })
  await ask('test a webhook', 'POST', `${path}/${data.id}/test`, { token })
  await eventually(
    'an attempt',
    async () =>
      (await ask('list deliveries', 'GET', `${path}/${data.id}/deliveries`, { token })).body.data.items[0].attempts > 0,
    patienceMs,
  )
  await ask('list webhooks', 'GET', path, { token })
}

/** The names of the secrets that a text or bytes contain, in any encoding. */
export const namesIn = (content: string | Buffer, secrets: readonly Secret[]): string[] => {
  const bytes = Buffer.from(content)
  return secrets.filter(({ value }) => formsOf(value).some(form => bytes.includes(form))).map(({ what }) => what)
}

/** The possible encodings of a secret: verbatim, and as in addresses, JSON, headers and dumps. */
function formsOf(value: string | Buffer): Buffer[] {
  const bytes = Buffer.from(value)
  const forms = [
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...[0, 1, 2].flatMap(shift => [
      inBase64(bytes, shift),
      inBase64(bytes, shift).replaceAll('+', '-').replaceAll('/', '_'),
    ]),
  ]
  const asText =
    typeof value === 'string'
      ? [
          encodeURIComponent(value),
          new URLSearchParams({ value }).toString().slice('value='.length),
          JSON.stringify(value).slice(1, -1),
          JSON.stringify(JSON.stringify(value)).slice(3, -3),
        ]
      : []
  return [bytes, ...[...forms, ...asText].map(text => Buffer.from(text))]
}

/** The base64 form of the bytes after `shift` other bytes, without the characters that depend on their neighbors. */
const inBase64 = (bytes: Buffer, shift: number) =>
  Buffer.concat([Buffer.alloc(shift), bytes])
    .toString('base64')
    .slice([0, 2, 3][shift], Math.floor((bytes.length + shift) / 3) * 4)

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => {
      const path = join(entry.parentPath, entry.name)
      return { name: path.slice(folder.length + 1), bytes: readFileSync(path) }
    })

async function send(url: string, method: string, { token, body, raw, headers }: RequestOptions): Promise<Reply> {
  const content = raw ?? (body === undefined ? undefined : JSON.stringify(body))
  const reply = await fetch(url, {
    method,
    redirect: 'manual',
    signal: AbortSignal.timeout(patienceMs),
    body: content,
    headers: {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(content !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
  })
  const text = await reply.text()
  return {
    status: reply.status,
    headers: reply.headers,
    text,
    body: reply.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(text) : undefined,
  }
}

/** Records the argument lists of all processes until it is stopped. */
function watchCommandLines(): { seen: Set<string>; stop(): Promise<void> } {
  const seen = new Set<string>()
  const stopped = new AbortController()
  const watching = (async () => {
    while (!stopped.signal.aborted) {
      for (const line of await commandLinesNow()) seen.add(line)
      await delay(50)
    }
  })()
  return {
    seen,
    stop: () => {
      stopped.abort()
      return watching
    },
  }
}

/** Linux provides them without another process. */
async function commandLinesNow(): Promise<string[]> {
  if (!existsSync('/proc/self/cmdline'))
    return (await run('ps', ['-A', '-ww', '-o', 'args='], { env: { PATH: process.env.PATH ?? '' } })).stdout.split('\n')
  return processIds().map(pid => readProcessFile(pid, 'cmdline').replaceAll('\0', ' '))
}
