import type { ForgeAddress } from './forge.ts'

type Kind = ForgeAddress['kind']
/** The forge of a credential, and its address if that is not the provider's public one. */
interface ForgeAccount {
  provider: string
  baseUrl: string | null
}
interface RemoteAddress {
  host: string
  /** The path without a leading slash and without .git. */
  path: string
}

/** The public forges, by the host of their pages and the hosts of Git over SSH. */
const publicForges: ReadonlyArray<{ kind: Kind; webUrl: string; hosts: readonly string[] }> = [
  { kind: 'github', webUrl: 'https://github.com', hosts: ['github.com', 'www.github.com', 'ssh.github.com'] },
  { kind: 'gitlab', webUrl: 'https://gitlab.com', hosts: ['gitlab.com', 'altssh.gitlab.com'] },
  { kind: 'gitea', webUrl: 'https://codeberg.org', hosts: ['codeberg.org'] },
]
const apiPaths: Readonly<Record<Kind, string>> = { github: '/api/v3', gitlab: '/api/v4', gitea: '/api/v1' }
const githubApi = 'https://api.github.com'

const isKind = (name: string | null): name is Kind => name !== null && Object.hasOwn(apiPaths, name)

/** The kind of forge at a remote's host, if the host is a public one. */
const publicKindOf = (url: string): Kind | undefined => {
  const host = parseRemote(url)?.host
  return publicForges.find(({ hosts }) => host !== undefined && hosts.includes(host))?.kind
}

/**
 * The kind of a project's forge: from the project's settings, otherwise from its credential, otherwise from the remote's host.
 */
export const forgeKindOf = (
  configured: Kind | null,
  account: Pick<ForgeAccount, 'provider'> | undefined,
  remoteUrl: string,
): Kind | undefined =>
  configured ?? (isKind(account?.provider ?? null) ? (account!.provider as Kind) : publicKindOf(remoteUrl))

/**
 * The address of a forge's pages and of Git over HTTP, from the credential. Only the credential determines where its token is
 * sent, because everyone with write access to the repository's configuration can change a remote. Undefined if the credential is
 * not for a forge.
 */
export function webUrlOf({ provider, baseUrl }: ForgeAccount): string | undefined {
  if (!isKind(provider)) return undefined
  const url = baseUrl?.replace(/\/+$/, '')
  if (url === undefined) return publicForges.find(({ kind }) => kind === provider && kind !== 'gitea')?.webUrl
  return url === githubApi ? 'https://github.com' : url.replace(new RegExp(`${apiPaths[provider]}$`), '')
}

/** The address of a forge's API, and the remote's repository in it. Undefined if the remote is not on the credential's forge. */
export function forgeAddressOf(kind: Kind, account: ForgeAccount, remoteUrl: string): ForgeAddress | undefined {
  const [webUrl, remote] = [webUrlOf({ ...account, provider: kind }), parseRemote(remoteUrl)]
  if (webUrl === undefined || !remote) return undefined
  const { hostname, pathname } = new URL(webUrl)
  const hosts = publicForges.find(each => each.webUrl === webUrl)?.hosts ?? [hostname]
  const prefix = pathname.replace(/^\/|\/$/g, '')
  // The path of the pages is not part of an SSH address.
  const repository =
    prefix !== '' && remote.path.startsWith(`${prefix}/`) ? remote.path.slice(prefix.length + 1) : remote.path
  if (!hosts.includes(remote.host) || !isRepository(kind, repository)) return undefined
  const apiUrl = webUrl === 'https://github.com' ? githubApi : webUrl + apiPaths[kind]
  return { kind, apiUrl, webUrl, repository }
}

/** owner/name of plain characters, so that it can be part of an address. */
const isRepository = (kind: Kind, path: string): boolean => {
  const parts = path.split('/')
  return (
    (kind === 'gitlab' ? parts.length >= 2 : parts.length === 2) &&
    parts.every(part => /^[\w.-]{1,200}$/.test(part) && !/^\.+$/.test(part))
  )
}

/**
 * Parses `https://host/path`, `ssh://user@host:port/path` and `user@host:path`. Undefined for a folder and other addresses that
 * Git accepts.
 */
function parseRemote(url: string): RemoteAddress | undefined {
  const short = /^(?:[^@/\s]+@)?([A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\]):(?!\/\/)(.+)$/.exec(url)
  if (short) return { host: short[1]!.toLowerCase(), path: pathOf(short[2]!) }
  if (!/^(https?|ssh|git\+ssh|ssh\+git):\/\//i.test(url) || !URL.canParse(url)) return undefined
  const { hostname, pathname } = new URL(url)
  return hostname === '' ? undefined : { host: hostname.toLowerCase(), path: pathOf(pathname) }
}

const pathOf = (path: string): string => path.replace(/^\/+|\/+$/g, '').replace(/\.git$/, '')
