import type { IncomingMessage } from 'node:http'
import type { ServerConfig } from '../../src/config/server.ts'
import { isLoopbackHost } from '../../src/contract/networkHosts.ts'
import { Problem } from '../../src/contract/errors.ts'

/** The hosts and origins that a server accepts, created once per server. `accepted` caches Host headers that have passed. */
interface Rules {
  names: ReadonlySet<string>
  publicOrigin: string | undefined
  /** The schemes of the server's pages. A server without TLS might be behind a proxy with TLS, so both are accepted. */
  schemes: readonly string[]
  accepted: Set<string>
}

const rulesOf = new WeakMap<ServerConfig, Rules>()
const maxCachedHosts = 100

/**
 * Rejects requests that a foreign page might have caused: by DNS rebinding (Host) or from another origin (Origin). The port
 * of Host is ignored, because proxies and containers change it.
 * @param anyHost whether the route also answers requests with another Host, or in HTTP/1.0 without one
 * @throws Problem BAD_REQUEST, HOST_NOT_ALLOWED, ORIGIN_NOT_ALLOWED
 */
export function hostOriginGuard({ config }: { config: ServerConfig }, request: IncomingMessage, anyHost = false): void {
  const { headers } = request
  requireOneHost(request)
  const rules = rulesOf.get(config) ?? createRules(config)
  const host = headers.host ?? ''
  if (!anyHost && !acceptsHost(rules, host)) throw new Problem('HOST_NOT_ALLOWED')
  if (headers.origin !== undefined && !isOwnOrigin(rules, headers.origin, host)) throw new Problem('ORIGIN_NOT_ALLOWED')
}

/**
 * Requires exactly one Host (RFC 9112, 3.2). If there are two, a proxy might read the second, while Node keeps the first and
 * lists the second only in `rawHeaders`.
 */
function requireOneHost({ rawHeaders, httpVersion }: IncomingMessage): void {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  if (hosts > 1) throw new Problem('BAD_REQUEST', 'The request has more than one Host header.')
  if (hosts === 0 && httpVersion === '1.1') throw new Problem('BAD_REQUEST', 'The request has no Host header.')
}

function createRules(config: ServerConfig): Rules {
  const publicUrl = config.publicUrl === undefined ? undefined : new URL(config.publicUrl)
  const names = [
    config.host.includes(':') && !config.host.startsWith('[') ? `[${config.host}]` : config.host,
    ...config.allowHosts.map(host => splitHostPort(host)?.name ?? host),
    ...[publicUrl?.hostname, config.database?.advertise && new URL(config.database.advertise).hostname].filter(
      name => name !== undefined,
    ),
  ]
  const rules = {
    names: new Set(names.map(name => name.toLowerCase())),
    publicOrigin: publicUrl?.origin,
    schemes: config.tls ? ['https'] : ['http', 'https'],
    accepted: new Set<string>(),
  }
  rulesOf.set(config, rules)
  return rules
}

/** Whether the Host of a request is one of the server's names. */
export const namesOwnHost = ({ config }: { config: ServerConfig }, { headers }: IncomingMessage): boolean =>
  acceptsHost(rulesOf.get(config) ?? createRules(config), headers.host ?? '')

function acceptsHost({ names, accepted }: Rules, host: string): boolean {
  if (accepted.has(host)) return true
  const name = splitHostPort(host)?.name
  if (name === undefined || !(names.has(name) || isLoopbackHost(name))) return false
  if (accepted.size < maxCachedHosts) accepted.add(host)
  return true
}

/** Whether the origin is the public one, that of the Host header, or the same port under another loopback name. */
function isOwnOrigin({ publicOrigin, schemes }: Rules, origin: string, host: string): boolean {
  if (origin === publicOrigin) return true
  const [, scheme, rest] = /^(https?):\/\/([^/]+)$/.exec(origin) ?? []
  const from = rest === undefined ? undefined : splitHostPort(rest)
  const to = splitHostPort(host)
  if (!from || !to || !schemes.includes(scheme!)) return false
  const usualPort = scheme === 'https' ? '443' : '80'
  return (
    (from.port ?? usualPort) === (to.port ?? usualPort) &&
    (from.name === to.name || (isLoopbackHost(from.name) && isLoopbackHost(to.name)))
  )
}

/** Splits `name:port`, `[address]:port` or a name or address without a port. Returns undefined for other text. */
function splitHostPort(host: string): { name: string; port: string | undefined } | undefined {
  const [, name, port] = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::(\d{1,5}))?$/i.exec(host) ?? []
  return name === undefined ? undefined : { name: name.toLowerCase(), port }
}
