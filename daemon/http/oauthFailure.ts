import type { ErrorCode, Problem } from '../../src/contract/errors.ts'

const words: { readonly [Code in ErrorCode]?: string } = {
  INVALID_CLIENT: 'invalid_client',
  INVALID_GRANT: 'invalid_grant',
  INVALID_TARGET: 'invalid_target',
  INVALID_REDIRECT_URI: 'invalid_redirect_uri',
  UNSUPPORTED_GRANT_TYPE: 'unsupported_grant_type',
}

/** A failure in the format of OAuth (RFC 6749, 5.2; RFC 7591, 3.2.2). */
export function oauthFailure({ code, status, message }: Problem): { error: string; error_description: string } {
  const usual = status === 429 || status === 503 ? 'temporarily_unavailable' : undefined
  return {
    error: words[code] ?? usual ?? (status < 500 ? 'invalid_request' : 'server_error'),
    // RFC 6749 allows only printable ASCII.
    error_description: message.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "'"),
  }
}
