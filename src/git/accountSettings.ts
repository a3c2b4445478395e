import { homedir } from 'node:os'
import { join } from 'node:path'
import { configurationOf, settingsOf } from './configuration.ts'
import { git } from './git.ts'
import type { Repository } from './workingTrees.ts'
import { readPlain } from './untrustedFiles.ts'

type Place = Pick<Repository, 'topLevel' | 'gitDir' | 'commonDir'>

const maxIgnoreBytes = 1024 * 1024

/** The settings of the account's own Git configuration that hold for files: those of comparisons, its filters and its ignore list. */
export interface AccountSettings {
  settings: ReadonlyArray<readonly [name: string, value: string]>
  filters: ReadonlyArray<readonly [name: string, key: string, value: string]>
  ignoreList: string
}

const noSettings: AccountSettings = { settings: [], filters: [], ignoreList: '' }

/** Reads the settings of the server's account that apply in a repository. Outside of one, none apply. */
export async function readAccountSettings({ topLevel, gitDir, commonDir }: Partial<Place>): Promise<AccountSettings> {
  if (topLevel === undefined || gitDir === undefined || commonDir === undefined) return noSettings
  const repository = { topLevel, gitDir, commonDir }
  const own = (await configurationOf(repository)).filter(({ scope }) => scope === 'global' || scope === 'system')
  const isNamed = own.some(({ name }) => name.toLowerCase() === 'core.excludesfile')
  const path = isNamed ? await ignoreListPath(repository) : defaultIgnoreList()
  return {
    settings: settingsOf(own).filter(([name]) => name.startsWith('core.')),
    filters: own.flatMap(({ name, value }) => {
      const [, filter, key] = /^filter\.(.+)\.(\w+)$/s.exec(name) ?? []
      return filter === undefined ? [] : [[filter, key!, value] as const]
    }),
    ignoreList: path === undefined ? '' : await readPlain(path, maxIgnoreBytes).catch(() => ''),
  }
}

async function ignoreListPath({ commonDir }: Place): Promise<string | undefined> {
  const { exitCode, stdout } = await git(commonDir, ['config', '--type=path', '--get', 'core.excludesFile'], {
    env: { GIT_DIR: commonDir },
  })
  return exitCode === 0 ? stdout.toString().trimEnd() : undefined
}

const defaultIgnoreList = () =>
  join(process.env.XDG_CONFIG_HOME || join(process.env.HOME ?? homedir(), '.config'), 'git/ignore')
