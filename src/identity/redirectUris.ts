/** Editors whose custom scheme lacks the dot that RFC 8252 requires. */
const editorSchemes = new Set(['cursor:', 'vscode:', 'vscode-insiders:'])
const loopbackNames = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * Whether an app can receive its responses at an address: https, http on its user's own machine, or a custom scheme such as
 * `com.example.app:`. Never a scheme that a browser runs or opens automatically (`javascript:`, `data:`, `file:`).
 */
export function isRedirectUri(text: string): boolean {
  if (!/^[\x21-\x7e]+$/.test(text) || text.includes('#') || !URL.canParse(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  if (username + password !== '') return false
  if (protocol === 'https:') return true
  if (protocol === 'http:') return loopbackNames.has(hostname)
  return editorSchemes.has(protocol) || /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/.test(protocol)
}

/** Whether an address is registered: the same text, except for the port on the user's own machine (RFC 8252, 7.3). */
export const isRegistered = (registered: readonly string[], asked: string): boolean =>
  registered.includes(asked) ||
  (isRedirectUri(asked) && registered.some(each => isLoopback(each) && withoutPort(each) === withoutPort(asked)))

/** The target of an address, in the form for users: `https://app.example`, `http://localhost`, `com.example.app:`. */
export function placeOf(redirectUri: string): string {
  const { protocol, host, hostname } = new URL(redirectUri)
  if (protocol === 'https:') return `https://${host}`
  return protocol === 'http:' ? `http://${hostname}` : protocol
}

/** An address with the parameters of a response. */
export function withAnswer(redirectUri: string, answer: Readonly<Record<string, string | undefined>>): string {
  const url = new URL(redirectUri)
  for (const [name, value] of Object.entries(answer))
    if (value === undefined) url.searchParams.delete(name)
    else url.searchParams.set(name, value)
  return url.href
}

const isLoopback = (uri: string) => new URL(uri).protocol === 'http:'

function withoutPort(uri: string): string {
  const url = new URL(uri)
  if (url.protocol === 'http:') url.port = ''
  return url.href
}
