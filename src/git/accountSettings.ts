import { homedir } from 'node:os'
import { join } from 'node:path'
import {
  configurationOf,
  configurationText,
  ofAccount,
  settingsOf,
  type ConfigurationEntry,
  type Settings,
} from './configuration.ts'
import { accountFilters, namesFilter } from './filters.ts'
import { readPlain } from './untrustedFiles.ts'
import type { WorkingTree } from './workingTrees.ts'

/** Settings of authors, of new repositories, and of the texts that Git writes. None can start a program. */
const plainSettings =
  /^((user|author|committer)\.(name|email|useconfigonly)|init\.defaultbranch|commit\.(cleanup|verbose)|i18n\.(commitencoding|logoutputencoding)|merge\.conflictstyle|core\.(commentchar|commentstring|whitespace))$/
const maxFileBytes = 1024 * 1024

/** The settings of the account's own Git configuration that affect files. */
export interface AccountSettings {
  /** The settings of comparisons, the filters, the author, the name of a first branch, and the form of messages. */
  settings: Settings
  /** The contents of `accountFiles`, by setting. */
  files: Readonly<Record<string, string>>
}

/** Reads the settings of the server's account that apply in a repository. Outside of one, none apply. */
export async function readAccountSettings({
  topLevel,
  gitDir,
  commonDir,
}: Partial<WorkingTree>): Promise<AccountSettings> {
  if (topLevel === undefined || gitDir === undefined || commonDir === undefined) return { settings: [], files: {} }
  const configuration = await configurationOf({ topLevel, gitDir, commonDir })
  const read = async ([setting, path]: Settings[number]) =>
    [setting, await readPlain(path, maxFileBytes).catch(() => '')] as const
  const own = ofAccount(configuration)
  return {
    settings: [
      ...settingsOf(own).filter(([name]) => name.startsWith('core.')),
      ...own.filter(({ name }) => plainSettings.test(name)).map(({ name, value }): Settings[number] => [name, value]),
      ...accountFilters(configuration),
    ],
    files: Object.fromEntries(await Promise.all(accountFiles(configuration).map(read))),
  }
}

/**
 * The contents of the files that provide these settings to Git in another place, by file name. `config` is the configuration.
 * @param folder where the files will be
 */
export function accountTexts({ settings, files }: AccountSettings, folder: string): Record<string, string> {
  const named = Object.keys(files).map((setting): Settings[number] => [setting, join(folder, setting)])
  return { config: configurationText([...settings, ...named]), ...files }
}

/**
 * Whether one of the account's filters can apply to the files of a commit.
 * @param filter the name of the filter; any filter if undefined
 */
export async function isFiltered(place: WorkingTree, commit: string, filter?: string): Promise<boolean> {
  const { settings, files } = await readAccountSettings(place)
  const start = filter === undefined ? 'filter.' : `filter.${filter}.`
  if (!settings.some(([name]) => name.startsWith(start))) return false
  const own = await readPlain(join(place.commonDir, 'info/attributes'), maxFileBytes).catch(() => '')
  return (
    [own, files['core.attributesfile']].some(text => text?.includes('filter=')) || namesFilter(place.commonDir, commit)
  )
}

/**
 * The account's files of ignored names, of attributes, and of the template for messages: the setting and the path. Git has default paths
 * for the first two.
 */
export function accountFiles(configuration: readonly ConfigurationEntry[]): Settings {
  const home = process.env.HOME ?? homedir()
  const own = ofAccount(configuration)
  const settingOf = (setting: string): string | undefined =>
    own.findLast(entry => entry.name === setting)?.value.replace(/^~(?=\/)/, home)
  const byDefault = (name: string) => join(process.env.XDG_CONFIG_HOME || join(home, '.config'), 'git', name)
  const template = settingOf('commit.template')
  return [
    ['core.excludesfile', settingOf('core.excludesfile') ?? byDefault('ignore')],
    ['core.attributesfile', settingOf('core.attributesfile') ?? byDefault('attributes')],
    ...(template ? [['commit.template', template] satisfies Settings[number]] : []),
  ]
}
