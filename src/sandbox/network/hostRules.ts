import { allowsHost, parseAuthority, parseNetworkHost } from '../../contract/networkHosts.ts'
import type { Target } from '../../egress/guardedConnect.ts'

/** Whether the proxy connects to a host. `trusted` also allows a host in a private network, because the operator chose it. */
export type HostRule = (target: Target) => 'refused' | 'allowed' | 'trusted'

/**
 * @param allowed entries for `parseNetworkHost`; invalid ones are ignored
 * @param trusted URLs of model endpoints that the operator chose: exactly their host and port, regardless of the address
 */
export function createHostRule(allowed: readonly string[], trusted: readonly string[]): HostRule {
  const entries = allowed.flatMap(text => parseNetworkHost(text) ?? [])
  const endpoints = trusted.flatMap(url => endpointOf(url) ?? [])
  return target => {
    if (endpoints.some(({ host, port }) => host === target.host && port === target.port)) return 'trusted'
    return entries.some(entry => allowsHost(entry, target.host, target.port)) ? 'allowed' : 'refused'
  }
}

function endpointOf(url: string): Target | undefined {
  if (!URL.canParse(url)) return undefined
  const { protocol, host } = new URL(url)
  const named = parseAuthority(host)
  return named && { host: named.host, port: named.port ?? (protocol === 'http:' || protocol === 'ws:' ? 80 : 443) }
}
