import { existsSync, lstatSync, readdirSync, readlinkSync, realpathSync, type Dirent, type Stats } from 'node:fs'
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

/**
 * The mounts of the files in the allowlist. Files and folders that some accounts of this machine cannot read are hidden. Reads
 * synchronously, because the start of each agent waits for it (measured: 2 ms instead of 10).
 */
export const configurationParts = (): SystemPart[] =>
  [...new Set(allowlist.flatMap(entry => findMatching(folder, entry.split('/'))))].flatMap(entryParts)

/** The paths below a folder that match the names of a pattern, level by level. */
function findMatching(above: string, [name, ...below]: readonly string[]): string[] {
  if (name === undefined) return [above]
  if (!name.includes('*')) return findMatching(join(above, name), below)
  const [start, end] = name.split('*') as [string, string]
  return namesIn(above)
    .filter(each => each.length >= start.length + end.length && each.startsWith(start) && each.endsWith(end))
    .flatMap(each => findMatching(join(above, each), below))
}

const namesIn = (path: string): string[] => entriesIn(path).map(({ name }) => name)

function entriesIn(path: string): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true })
  } catch {
    return []
  }
}

function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** The mounts of an entry of the allowlist. A link into the system stays a link, because programs read the time zone's name from it. */
function entryParts(target: string): SystemPart[] {
  const stats = statsOf(target)
  if (!stats || !existsSync(target)) return []
  const link = stats.isSymbolicLink() ? readlinkSync(target) : undefined
  if (link !== undefined && isOfSystem(resolve(dirname(target), link))) return [{ kind: 'link', source: link, target }]
  const source = realpathSync.native(target)
  const hidden = hiddenParts(source, target)
  return hidden[0]?.target === target ? [] : [{ kind: 'ro', source, target }, ...hidden]
}

/** Covers files and folders that some accounts cannot read. A server that is root or owns them could read them. */
function hiddenParts(source: string, target: string): SystemPart[] {
  const stats = statsOf(source)
  if (!stats) return []
  if (!stats.isDirectory()) return (stats.mode & 0o004) === 0 ? [{ kind: 'ro', source: '/dev/null', target }] : []
  if ((stats.mode & 0o005) !== 0o005) return [{ kind: 'tmpfs', target }]
  return entriesIn(source)
    .filter(entry => !entry.isSymbolicLink())
    .flatMap(({ name }) => hiddenParts(join(source, name), join(target, name)))
}
