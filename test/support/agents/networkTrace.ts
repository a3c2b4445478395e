import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { reportSkipped } from '../run/reportSkipped.ts'

/** The lookups and connections of a process and its child processes. */
export interface NetworkTrace {
  /** The command that runs another one under the trace; empty if this machine cannot trace. */
  prefix: readonly string[]
  /** The resolved names, and the attempted addresses beyond this machine. */
  foreign(): string[]
}

const calls = 'connect,sendto,sendmsg,sendmmsg'
/** Every string in hexadecimal, long enough for a DNS query; the tracer in a separate session, so that the traced process keeps its place. */
const options = ['-DDD', '-f', '-qq', '-xx', '-s', '300', '--seccomp-bpf', '-e', `trace=${calls}`]

let reason: string | undefined
/** Traces with strace, which also sees statically linked programs, and needs no root permissions. */
export function traceNetwork(file: string): NetworkTrace {
  reason ??= whyNot()
  if (reason) reportSkipped('The connections of real agents', reason)
  return {
    prefix: reason ? [] : ['strace', ...options, '-A', '-o', file],
    foreign: () => (existsSync(file) ? foreignIn(readFileSync(file, 'latin1')) : []),
  }
}

function whyNot(): string {
  try {
    execFileSync('strace', [...options, '-o', '/dev/null', 'true'], { stdio: 'pipe' })
    return ''
  } catch (error) {
    return `strace cannot be used here: ${String((error as Error).message).split('\n')[0]}`
  }
}

/** The names and foreign addresses in a trace. */
export function foreignIn(trace: string): string[] {
  const found = new Set<string>()
  for (const line of trace.split('\n')) {
    for (const name of namesIn(line)) found.add(name)
    const address = addressIn(line)
    if (address !== undefined && !isLoopback(address)) found.add(address)
  }
  return [...found]
}

/** The target of a call: `{sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("\x31…")}`. */
function addressIn(line: string): string | undefined {
  const [, address, flow] = /(?:inet_addr\(|inet_pton\(AF_INET6, )"([^"]+)"(?:.*?htons\((\d+)\))?/.exec(line) ?? []
  const port = flow ?? /htons\((\d+)\)/.exec(line)?.[1]
  return address === undefined ? undefined : `${bytesOf(address).toString('latin1')}:${port ?? '?'}`
}

const isLoopback = (address: string) => /^(127\.|::1:|::ffff:127\.)/.test(address)

/** The names in DNS queries, which are messages with one question and no answer. */
function namesIn(line: string): string[] {
  return [...line.matchAll(/"((?:\\x[0-9a-f]{2})+)"/g)].flatMap(([, text]) => questionIn(bytesOf(text!)) ?? [])
}

function questionIn(message: Buffer): string | undefined {
  if (
    message.length < 17 ||
    message.readUInt16BE(4) !== 1 ||
    (message[2]! & 0xf8) !== 0 ||
    message.readUInt16BE(6) !== 0
  )
    return undefined
  const labels: string[] = []
  let at = 12
  for (let length = message[at]!; length > 0; length = message[at]!) {
    const label = message.toString('latin1', at + 1, at + 1 + length)
    if (!/^[\w-]{1,63}$/.test(label) || at + 1 + length >= message.length) return undefined
    labels.push(label)
    at += 1 + length
  }
  return labels.length > 0 && message.length >= at + 5 && message.readUInt16BE(at + 3) === 1
    ? labels.join('.')
    : undefined
}

const bytesOf = (text: string): Buffer =>
  text.startsWith('\\x') ? Buffer.from(text.replaceAll('\\x', ''), 'hex') : Buffer.from(text, 'latin1')
