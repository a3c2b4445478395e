/**
 * An entry in the list of hosts that a project's agents can reach: a name, `*.name` for all names below it, or an address. An entry without
 * a port allows ports 80 and 443.
 */
export interface NetworkHost {
  /** The stored entry: in lower case, international names in their ASCII form, IPv6 in brackets. */
  text: string
  host: string
  isBelow: boolean
  port: number | undefined
}

const usualPorts: readonly number[] = [80, 443]
const maxNameLength = 253
const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/
const ipv4 = /^\d{1,3}(?:\.\d{1,3}){3}$/

/**
 * Parses an entry. Undefined if the entry is invalid. `*` alone and `*.org` are invalid, because a list must not allow
 * everything.
 * @param text `example.org`, `*.example.org`, `example.org:8443`, `192.0.2.1`, `[2001:db8::1]:8443`
 */
export function parseNetworkHost(text: string): NetworkHost | undefined {
  const isBelow = text.startsWith('*.')
  const rest = isBelow ? text.slice(2) : text
  const named = parseAuthority(/^[0-9a-f:.]*:[0-9a-f.]*:[0-9a-f:.]*$/i.test(rest) ? `[${rest}]` : rest)
  if (!named) return undefined
  const { host, port } = named
  if (isBelow && (isAddress(host) || !host.includes('.'))) return undefined
  return { text: `${isBelow ? '*.' : ''}${authorityOf(host, port)}`, host, isBelow, port }
}

export const isNetworkHost = (text: string): boolean => parseNetworkHost(text) !== undefined

/** Whether an entry matches this host, in its canonical form, and port. */
export const allowsHost = ({ host: listed, isBelow, port: listedPort }: NetworkHost, host: string, port: number) =>
  (isBelow ? host.endsWith(`.${listed}`) : host === listed) &&
  (listedPort === undefined ? usualPorts.includes(port) : port === listedPort)

/** A host in its canonical form, IPv6 without brackets, and the port after it. Undefined if the text is not a host. */
export function parseAuthority(text: string): { host: string; port: number | undefined } | undefined {
  const [, name, digits] = /^(\[[0-9a-f:.]+\]|[^\s[\]:/?#@\\%*]+)(?::(\d{1,5}))?$/i.exec(text) ?? []
  const host = name === undefined ? undefined : canonicalHost(name)
  const port = digits === undefined ? undefined : Number(digits)
  return host === undefined || port === 0 || (port ?? 0) > 65_535 ? undefined : { host, port }
}

/** A host, and its port if given, in the form of a URL. */
export const authorityOf = (host: string, port?: number): string =>
  `${host.includes(':') ? `[${host}]` : host}${port === undefined ? '' : `:${port}`}`

/** The form in URLs, where `0x7f.1` is 127.0.0.1, so that the compared host is the one that is connected to. */
function canonicalHost(name: string): string | undefined {
  if (!URL.canParse(`http://${name}/`)) return undefined
  const host = new URL(`http://${name}/`).hostname.replace(/\.$/, '')
  if (host.startsWith('[')) return host.slice(1, -1)
  return host.length <= maxNameLength && host.split('.').every(each => label.test(each)) ? host : undefined
}

const isAddress = (host: string) => ipv4.test(host) || host.includes(':')

/** Whether a name or address means this machine only. */
export const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' ||
  host === '::1' ||
  host === '[::1]' ||
  /^127(\.\d{1,3}){3}$/.test(host) ||
  host.endsWith('.localhost')
