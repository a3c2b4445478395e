/** Returns a hint for fixing a missing response, if the error code indicates one. */
export function hintFor({ protocol, host, hostname }: URL, code: string): string | undefined {
  if (code === 'EPROTO') return `it does not use https: try http://${host}`
  if (code === 'ECONNREFUSED')
    return /^(localhost|127\.|\[::1\])/.test(hostname)
      ? 'no server is running there; start one with: board server start'
      : 'no server is running there'
  if (code === 'EPIPE' || code === 'UND_ERR_SOCKET')
    return 'the connection was interrupted: check whether the file arrived, and if not, send it again'
  if (code === 'ECONNRESET')
    return protocol === 'http:'
      ? `the connection was interrupted before a response: check the result and try again; if the server uses https: https://${host}`
      : 'the connection was interrupted before a response: check the result, and try again'
  if (code.startsWith('HPE_')) return `the server there is not an HTTP server; if it uses https: https://${host}`
  return certificateHints[code] ?? hints[code]
}

const hints: Record<string, string> = {
  ENOTFOUND: 'no host with that name exists',
  EAI_AGAIN: 'its name cannot be looked up now; is this machine on a network?',
  EHOSTUNREACH: 'the host is unreachable',
  ENETUNREACH: 'the host is unreachable; is this machine on a network?',
  ETIMEDOUT: 'it did not respond in time; use --timeout to wait longer',
  UND_ERR_HEADERS_TIMEOUT: 'it did not respond in time; use --timeout to wait longer',
  UND_ERR_BODY_TIMEOUT: 'it did not respond in time; use --timeout to wait longer',
  UND_ERR_CONNECT_TIMEOUT: 'it did not respond in time; use --timeout to wait longer',
}

/** Whether a connection ended because of the server's certificate, before anything was sent. */
export const isCertificateRefusal = (code: string | undefined): boolean =>
  code !== undefined && Object.hasOwn(certificateHints, code)

const unknownIssuer =
  'its certificate is from an unknown authority; specify the authority in a file: NODE_EXTRA_CA_CERTS=ca.pem'
const certificateHints: Record<string, string> = {
  DEPTH_ZERO_SELF_SIGNED_CERT:
    'its certificate is self-signed; if the server is yours: NODE_EXTRA_CA_CERTS=certificate.pem',
  SELF_SIGNED_CERT_IN_CHAIN: unknownIssuer,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownIssuer,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownIssuer,
  UNABLE_TO_GET_ISSUER_CERT: unknownIssuer,
  CERT_HAS_EXPIRED: 'its certificate has expired; its administrator must renew it',
  CERT_NOT_YET_VALID: "its certificate is not valid yet; is this machine's clock right?",
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name; is the address right?',
}
