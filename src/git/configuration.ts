import { homedir } from 'node:os'
import { join } from 'node:path'
import { readStamps } from './fileStamps.ts'
import { git } from './git.ts'
import { nulSeparated } from './fileNames.ts'

export interface ConfigurationEntry {
  scope: string
  name: string
  value: string
}
type Place = Readonly<{ topLevel: string; gitDir: string; commonDir: string }>

/** Only these settings are kept in memory, because others can be secret, such as a header with a token. */
const wanted =
  '^((core|extensions|include|includeif|commit|i18n)\\.|(user|author|committer)\\.(name|email|useconfigonly)$|init\\.defaultbranch$|merge\\.conflictstyle$|filter\\..*\\.(clean|smudge|process|required)$|branch\\..*\\.(remote|merge)$)'
const maxKept = 200
const systemFiles = ['/etc/gitconfig', '/usr/etc/gitconfig', '/usr/local/etc/gitconfig', '/opt/homebrew/etc/gitconfig']

/** The configuration of each repository by its Git folder. Valid until one of its files changes. */
const kept = new Map<string, { stamps: string; entries: readonly ConfigurationEntry[] }>()

/**
 * The configuration of a working tree, with the account's own. Git runs again if one of its files was replaced or changed. If the
 * configuration includes further files, Git runs each time, because their paths can depend on anything.
 */
export async function configurationOf(place: Place): Promise<readonly ConfigurationEntry[]> {
  const before = await stampsOf(place)
  const known = kept.get(place.commonDir)
  if (known && before !== undefined && known.stamps === before) return known.entries
  kept.delete(place.commonDir)
  const { entries, isWhole } = await list(place.commonDir, place.commonDir)
  if (entries.some(({ name }) => name === 'extensions.worktreeconfig')) {
    // With this extension, a working tree can have separate settings, unless it is just being created.
    const own = await list(place.commonDir, place.gitDir)
    return own.isWhole ? own.entries : entries
  }
  // If a file changed in the meantime, its stamp differs the next time.
  if (before !== undefined && isWhole && !entries.some(isFurther))
    cacheEntries(place.commonDir, { stamps: before, entries })
  return entries
}

function cacheEntries(commonDir: string, value: { stamps: string; entries: readonly ConfigurationEntry[] }): void {
  const [oldest] = kept.keys()
  if (kept.size >= maxKept && oldest !== undefined) kept.delete(oldest)
  kept.set(commonDir, value)
}

/** A setting that names files which are not checked here. */
const isFurther = ({ name }: ConfigurationEntry): boolean => /^include(if)?\./.test(name)

/** The Git folder is explicit, so no pointer in a working tree determines the configuration. */
async function list(folder: string, gitDir: string): Promise<{ entries: ConfigurationEntry[]; isWhole: boolean }> {
  const { exitCode, stdout } = await git(folder, ['config', '--null', '--show-scope', '--get-regexp', wanted], {
    env: { GIT_DIR: gitDir },
  })
  // Each entry is "scope NUL name LF value NUL". The scope `command` is that of the board's own settings.
  const parts = nulSeparated(stdout)
  const entries = parts
    .flatMap((entry, index) => (index % 2 === 0 ? [] : [entryOf(parts[index - 1]!, entry)]))
    .filter(({ scope }) => scope !== 'command')
  return { entries, isWhole: exitCode === 0 || exitCode === 1 }
}

function entryOf(scope: string, entry: string): ConfigurationEntry {
  const at = entry.indexOf('\n')
  return at < 0 ? { scope, name: entry, value: '' } : { scope, name: entry.slice(0, at), value: entry.slice(at + 1) }
}

/** The state of each file. Undefined if one has just changed. */
function stampsOf({ commonDir }: Pick<Place, 'commonDir'>): Promise<string | undefined> {
  const { GIT_CONFIG_GLOBAL, GIT_CONFIG_SYSTEM, XDG_CONFIG_HOME, HOME = homedir() } = process.env
  return readStamps([
    join(commonDir, 'config'),
    ...(GIT_CONFIG_GLOBAL === undefined
      ? [join(HOME, '.gitconfig'), join(XDG_CONFIG_HOME || join(HOME, '.config'), 'git', 'config')]
      : [GIT_CONFIG_GLOBAL]),
    ...(GIT_CONFIG_SYSTEM === undefined ? systemFiles : [GIT_CONFIG_SYSTEM]),
  ])
}

/** The settings of the account itself, which no repository can change. */
export const ofAccount = (configuration: readonly ConfigurationEntry[]): ConfigurationEntry[] =>
  configuration.filter(({ scope }) => scope === 'global' || scope === 'system')

/** Settings of comparisons. None can start a program. */
const copiedSettings =
  /^(core\.(autocrlf|eol|safecrlf|filemode|symlinks|ignorecase|precomposeunicode|protecthfs|protectntfs|checkstat|trustctime|bigfilethreshold)|extensions\.objectformat)$/

export type Settings = Array<[name: string, value: string]>

/** The text of a configuration file. */
export const configurationText = (settings: ReadonlyArray<readonly [name: string, value: string]>): string =>
  settings
    .map(([name, value]) => `${sectionOf(name)}\n${name.slice(name.lastIndexOf('.') + 1)} = ${quoteValue(value)}\n`)
    .join('')

function sectionOf(name: string): string {
  const [start, end] = [name.indexOf('.'), name.lastIndexOf('.')]
  const section = name.slice(0, start)
  return start === end ? `[${section}]` : `[${section} ${quoteValue(name.slice(start + 1, end))}]`
}

const quoteValue = (value: string): string =>
  `"${value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t')}"`

/** The settings of a configuration that apply to comparisons. */
export const settingsOf = (configuration: readonly ConfigurationEntry[]): Settings =>
  configuration
    .map(({ name, value }): Settings[number] => [name.toLowerCase(), value])
    .filter(([name, value]) => copiedSettings.test(name) && /^[a-z0-9]{1,20}$/i.test(value))
