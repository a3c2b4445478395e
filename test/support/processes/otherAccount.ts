import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { inNamespaces } from './bubblewrap.ts'
import { reportSkipped } from '../run/reportSkipped.ts'

/** The user and group id of `nobody`. */
const nobody = 65_534
export const canSwitchAccount = process.platform === 'linux' && process.getuid?.() === 0

/** Whether the tests can start a process of another account. */
export function hasOtherAccount(): boolean {
  if (!canSwitchAccount) reportSkipped('Tests of another account', 'only root on Linux can start its processes')
  return canSwitchAccount
}

/** A request in the form of its bytes. `leaves`: the client disconnects as soon as it has sent it. */
export interface RawRequest {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: unknown
  /** Bytes after the head instead of a body. */
  raw?: string
  host?: string
  localPort?: number
  leaves?: boolean
}
export interface RawResponse {
  status: number
  body: any
  /** The bytes after the head, one character per byte. */
  rest: string
}

const source = readFileSync(new URL('../../fixtures/rawClient.mjs', import.meta.url), 'utf8')

/** Sends requests from a process of another account, of the tests' own, or of that in a sandbox on the machine's network. */
export async function requestAs(
  account: 'other' | 'own' | 'sandboxed',
  url: string,
  requests: readonly RawRequest[],
): Promise<RawResponse[]> {
  const client = [process.execPath, '--input-type=module', '-e', source]
  const [program, ...args] =
    account === 'sandboxed' ? inNamespaces(['--unshare-user', '--unshare-pid'], client) : client
  const child = spawn(program!, args, {
    cwd: '/',
    env: { PATH: process.env.PATH },
    stdio: ['pipe', 'pipe', 'inherit'],
    ...(account === 'other' && { uid: nobody, gid: nobody }),
  })
  const port = Number(new URL(url).port)
  child.stdin.end(
    JSON.stringify(
      requests.map(request => ({
        host: request.host ?? '127.0.0.1',
        port,
        localPort: request.localPort,
        leaves: request.leaves,
        text: bytesOf(request, port),
      })),
    ),
  )
  const [printed] = await Promise.all([text(child.stdout), once(child, 'close')])
  return (JSON.parse(printed) as string[]).map(toAnswer)
}

function bytesOf({ method = 'GET', path, headers = {}, body, raw }: RawRequest, port: number): string {
  const content = body === undefined ? '' : JSON.stringify(body)
  const all = {
    host: `localhost:${port}`,
    connection: 'close',
    ...(body !== undefined && { 'content-type': 'application/json', 'content-length': String(content.length) }),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${raw ?? content}`
}

function toAnswer(answer: string): RawResponse {
  const [head, ...rest] = answer.split('\r\n\r\n')
  const text = rest.join('\r\n\r\n')
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head!)?.[1] ?? 0), body: parse(text), rest: text }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
