import { X509Certificate } from 'node:crypto'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { Agent, request, type RequestOptions } from 'node:https'
import type { ConnectionOptions } from 'node:tls'

/**
 * Accepts one server certificate (PEM) and no other, whatever its issuer and names. The file in which a server
 * leaves it is the account's own, so it says more than an authority.
 */
export const pinnedTo = (certificate: string): ConnectionOptions => ({
  ca: certificate,
  allowPartialTrustChain: true,
  checkServerIdentity: (_, { raw }) =>
    raw.equals(new X509Certificate(certificate).raw)
      ? undefined
      : Object.assign(new Error('The certificate is another one.'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }),
})

const agents = new Map<string, Agent>()

/** The connections that are kept to the server with this certificate. */
export function agentOf(certificate: string): Agent {
  const agent = agents.get(certificate) ?? new Agent({ ...pinnedTo(certificate), keepAlive: true, timeout: 5000 })
  // A server has one certificate at a time: connections with the former one are not used again.
  if (agents.size > 4) agents.clear()
  agents.set(certificate, agent)
  return agent
}

/** Sends requests by HTTPS, and takes only this certificate for the server's if one is given. */
export const requestPinned =
  (certificate: string | undefined) =>
  (url: URL, options: RequestOptions, answered: (answer: IncomingMessage) => void): ClientRequest =>
    request(url, { ...options, agent: certificate === undefined ? undefined : agentOf(certificate) }, answered)
