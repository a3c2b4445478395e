/** What to do where no answer came, as far as the code of the failure tells it. */
export function hintFor({ protocol, host, hostname }: URL, code: string): string | undefined {
  if (code === 'EPROTO') return `it does not speak https: try http://${host}`
  if (code === 'ECONNREFUSED')
    return /^(localhost|127\.|\[::1\])/.test(hostname)
      ? 'no server runs there; start one with: board server start'
      : 'no server runs there'
  if (code === 'EPIPE' || code === 'UND_ERR_SOCKET')
    return 'it broke off on the way: look whether it is there all the same, and send it again if not'
  if (code === 'ECONNRESET')
    return protocol === 'http:'
      ? `it broke off before it answered: look what was done and try again; if it speaks https: https://${host}`
      : 'it broke off before it answered: look what was done, and try again'
  if (code.startsWith('HPE_')) return `what answers there is no HTTP server; if it speaks https: https://${host}`
  return certificateHints[code] ?? hints[code]
}

const hints: Record<string, string> = {
  ENOTFOUND: 'there is no host of that name',
  EAI_AGAIN: 'its name cannot be looked up now; is this machine on a network?',
  EHOSTUNREACH: 'there is no way to that host',
  ENETUNREACH: 'there is no way to that host; is this machine on a network?',
  ETIMEDOUT: 'it did not answer in time; --timeout gives it more',
  UND_ERR_HEADERS_TIMEOUT: 'it did not answer in time; --timeout gives it more',
  UND_ERR_BODY_TIMEOUT: 'it did not answer in time; --timeout gives it more',
  UND_ERR_CONNECT_TIMEOUT: 'it did not answer in time; --timeout gives it more',
}

/** Whether a connection ended because of the server's certificate, before anything was sent. */
export const isCertificateRefusal = (code: string | undefined): boolean =>
  code !== undefined && Object.hasOwn(certificateHints, code)

const unknownIssuer =
  'its certificate is of no authority that is known here; name that in a file: NODE_EXTRA_CA_CERTS=ca.pem'
const certificateHints: Record<string, string> = {
  DEPTH_ZERO_SELF_SIGNED_CERT:
    'its certificate is signed by itself; if it is yours: NODE_EXTRA_CA_CERTS=certificate.pem',
  SELF_SIGNED_CERT_IN_CHAIN: unknownIssuer,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownIssuer,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownIssuer,
  UNABLE_TO_GET_ISSUER_CERT: unknownIssuer,
  CERT_HAS_EXPIRED: 'its certificate has expired; its administrator must renew it',
  CERT_NOT_YET_VALID: "its certificate is not valid yet; is this machine's clock right?",
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name; is the address right?',
}
