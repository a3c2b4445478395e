import { lstat, readdir, readlink, realpath } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { isOfSystem, type SystemPart } from './systemMounts.ts'

const folder = '/etc'

/** The files and folders of /etc that programs need. `*` stands for any part of a name. */
const allowlist = [
  // The dynamic linker and the C compiler search the folders that these files name.
  'ld.so.cache ld.so.conf ld.so.conf.d ld-musl-*.path',
  // Programs in /usr/bin are links to links in this folder.
  'alternatives',
  // Certificates and the settings of TLS libraries, without the folders of private keys.
  'ssl/certs ssl/cert.pem ssl/ca-bundle.pem ssl/openssl.cnf ca-certificates crypto-policies',
  'pki/ca-trust pki/java pki/tls/certs pki/tls/cert.pem pki/tls/openssl.cnf',
  // Names of accounts, hosts and services.
  'passwd group nsswitch.conf hosts host.conf resolv.conf gai.conf services protocols',
  // The time zone and the language.
  'localtime timezone locale.conf locale.alias default/locale',
  // Installers choose a build by the name of the distribution.
  'os-release *-release debian_version',
  // Settings of Git, SSH and package managers for all accounts: proxies, mirrors, known hosts.
  'gitconfig gitattributes ssh/ssh_config ssh/ssh_config.d ssh/ssh_known_hosts npmrc pip.conf',
  // These programs do not start without their settings.
  'java java-* maven php*.ini php.d php/*/cli php/*/mods-available chromium.d dotnet mono R texmf',
  // Browsers need the list of fonts, and web servers the types of files.
  'fonts mime.types',
  // An administrator's settings for agents.
  'claude-code codex gemini-cli github-copilot opencode qwen-code goose cursor',
].flatMap(names => names.split(' '))

/** The mounts of the allowlist's entries. Files and folders that some accounts of this machine cannot read are hidden. */
export async function configurationParts(): Promise<SystemPart[]> {
  const found = await Promise.all(allowlist.map(entry => matching(folder, entry.split('/'))))
  const parts = await Promise.all([...new Set(found.flat())].map(entryParts))
  return parts.flat()
}

/** The paths below a folder that match the names of a pattern, level by level. */
async function matching(above: string, [name, ...below]: readonly string[]): Promise<string[]> {
  if (name === undefined) return [above]
  if (!name.includes('*')) return matching(join(above, name), below)
  const [start, end] = name.split('*') as [string, string]
  const names = await readdir(above).catch(() => [])
  const matches = names.filter(
    each => each.length >= start.length + end.length && each.startsWith(start) && each.endsWith(end),
  )
  return (await Promise.all(matches.map(each => matching(join(above, each), below)))).flat()
}

/** An entry of the allowlist. A link into the system stays one, since programs read the time zone's name from it. */
async function entryParts(target: string): Promise<SystemPart[]> {
  const source = await realpath(target).catch(() => undefined)
  if (source === undefined) return []
  const link = (await lstat(target)).isSymbolicLink() ? await readlink(target) : undefined
  if (link !== undefined && isOfSystem(resolve(dirname(target), link))) return [{ kind: 'link', source: link, target }]
  const hidden = await hiddenParts(source, target)
  return hidden[0]?.target === target ? [] : [{ kind: 'ro', source, target }, ...hidden]
}

/** Covers files and folders that some accounts cannot read. A server that is root or owns them could read them. */
async function hiddenParts(source: string, target: string): Promise<SystemPart[]> {
  const stats = await lstat(source).catch(() => undefined)
  if (!stats) return []
  if (!stats.isDirectory()) return (stats.mode & 0o004) === 0 ? [{ kind: 'ro', source: '/dev/null', target }] : []
  if ((stats.mode & 0o005) !== 0o005) return [{ kind: 'tmpfs', target }]
  const entries = await readdir(source, { withFileTypes: true }).catch(() => [])
  // A thousand links to alternatives are common, and each `lstat` costs a turn of the thread pool.
  const found = entries
    .filter(entry => !entry.isSymbolicLink())
    .map(({ name }) => hiddenParts(join(source, name), join(target, name)))
  return (await Promise.all(found)).flat()
}
