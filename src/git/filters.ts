import { cacheByCommit } from './commitCache.ts'
import { ofAccount, type ConfigurationEntry, type Settings } from './configuration.ts'
import { type GitOptions, gitOutput, inGitDir } from './git.ts'
import { nulSeparated, nulTerminated } from './fileNames.ts'

/** Runs Git in a repository. @throws GitFailed */
export type GitRun = (args: readonly string[], options?: GitOptions) => Promise<Buffer>

/**
 * The filters of the account's configuration. They run in each repository, because no repository can change them. All of them are required:
 * if one fails, for example because a sandbox hides its program, its files must not be changed without the filter.
 */
export function accountFilters(configuration: readonly ConfigurationEntry[]): Settings {
  const settings = ofAccount(configuration).filter(isFilter).map(settingOf)
  const has = (name: string) => settings.some(([each]) => each === name)
  return [...new Set(settings.map(filterName))].flatMap(name => [
    ...settings.filter(setting => filterName(setting) === name && !setting[0].endsWith('.required')),
    // Git treats a missing half of a required filter as a failure.
    ...['clean', 'smudge'].flatMap((half): Settings =>
      has(`filter.${name}.${half}`) || has(`filter.${name}.process`) ? [] : [[`filter.${name}.${half}`, 'cat']],
    ),
    [`filter.${name}.required`, 'true'],
  ])
}

/** The names of the filters that the repository alone defines. They never run: an agent could have named the program. */
export function repositoryFilters(configuration: readonly ConfigurationEntry[]): string[] {
  const ofEach = accountFilters(configuration).map(filterName)
  const names = configuration.filter(isFilter).map(entry => filterName(settingOf(entry)))
  return [...new Set(names)].filter(name => !ofEach.includes(name))
}

/**
 * The variables that disable these filters in Git.
 * @param areStored whether the files have the content of the commits. Otherwise, Git must not add the files, because that would reveal the
 * content that a filter encrypts
 */
export function withoutFilters(names: readonly string[], areStored: boolean): Record<string, string> {
  const program = areStored ? '' : 'false'
  const settings = names.flatMap((name): Settings => [
    ...['clean', 'smudge', 'process'].map((part): Settings[number] => [
      `filter.${name}.${part}`,
      part === 'process' ? '' : program,
    ]),
    [`filter.${name}.required`, String(!areStored)],
  ])
  if (settings.length === 0) return {}
  const variables = settings.flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, name],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ])
  return { GIT_CONFIG_COUNT: String(settings.length), ...(Object.fromEntries(variables) as Record<string, string>) }
}

const isFilter = ({ name }: ConfigurationEntry) => name.startsWith('filter.')
const settingOf = ({ name, value }: ConfigurationEntry): Settings[number] => [name, value]
const filterName = ([name]: Settings[number]) => name.slice('filter.'.length, name.lastIndexOf('.'))

/** Whether the attributes of a commit's files name a filter. @throws GitFailed */
export const namesFilter = cacheByCommit(async (commonDir, commit) => {
  const args = ['grep', '--name-only', '--fixed-strings', '-e', 'filter=', commit, '--', ':(glob)**/.gitattributes']
  // Git exits with 1 if it finds nothing.
  return (await gitOutput(commonDir, args, { env: inGitDir(commonDir), exitCodes: [0, 1] })).length > 0
})

/** Returns those of the files whose attributes name one of the filters. */
export async function withFilter(
  run: GitRun,
  paths: readonly string[],
  names: readonly string[],
  options: readonly string[] = [],
): Promise<string[]> {
  if (paths.length === 0 || names.length === 0) return []
  const input = nulTerminated(paths)
  const attributes = nulSeparated(await run(['check-attr', ...options, '-z', '--stdin', 'filter'], { input }))
  return attributes.flatMap((path, index) => (index % 3 === 0 && names.includes(attributes[index + 2]!) ? [path] : []))
}
