import { X509Certificate } from 'node:crypto'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { Agent, request, type RequestOptions } from 'node:https'
import type { ConnectionOptions } from 'node:tls'

/**
 * Accepts one server certificate (PEM) and no other, regardless of its issuer and names. The server stores it in a file that belongs to the
 * account, so the certificate is more trustworthy than an authority.
 */
export const pinnedTo = (certificate: string): ConnectionOptions => ({
  ca: certificate,
  allowPartialTrustChain: true,
  checkServerIdentity: (_, { raw }) =>
    raw.equals(new X509Certificate(certificate).raw)
      ? undefined
      : Object.assign(new Error("The server's certificate differs from the pinned certificate."), {
          code: 'ERR_TLS_CERT_ALTNAME_INVALID',
        }),
})

const agents = new Map<string, Agent>()

/** The connections that accept only this certificate. */
export function agentOf(certificate: string): Agent {
  const agent = agents.get(certificate) ?? new Agent({ ...pinnedTo(certificate), keepAlive: true, timeout: 5000 })
  // A server has one certificate at a time, so connections with the former one are not reused.
  if (agents.size > 4) agents.clear()
  agents.set(certificate, agent)
  return agent
}

/** Sends requests by HTTPS, and accepts only this certificate if one is given. */
export const requestPinned =
  (certificate: string | undefined) =>
  (url: URL, options: RequestOptions, onAnswer: (answer: IncomingMessage) => void): ClientRequest =>
    request(url, { ...options, agent: certificate === undefined ? undefined : agentOf(certificate) }, onAnswer)
