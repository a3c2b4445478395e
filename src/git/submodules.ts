import { join } from 'node:path'
import type { GitRun } from './filters.ts'
import { shellWord } from '../process/shellWord.ts'
import { nulSeparated } from './fileNames.ts'
import { git, inGitDir } from './git.ts'
import { kindOf } from './kindOf.ts'
import type { WorkingTree } from './workingTrees.ts'

const maxListBytes = 256 * 1024 * 1024
const timeoutMs = 60_000
const gitlink = '160000'

/** The prefix of refs that keep the commits of merged cards in submodules. */
export const keptRefs = 'refs/board/submodules'

/** The folder in which Git keeps the Git folders of a working tree's submodules. */
export const modulesOf = ({ gitDir }: Pick<WorkingTree, 'gitDir'>): string => join(gitDir, 'modules')

/** A commit of a submodule to which a commit of the repository around it refers. */
export interface SubmoduleCommit {
  path: string
  /** The name in `.gitmodules`. Undefined if the submodule is not listed there. */
  name: string | undefined
  commit: string
}

/** A change of a repository that can refer to other commits of submodules. */
export interface SubmoduleChange {
  /** The commit before the change; undefined compares with an empty repository. */
  from: string | undefined
  to: string
  /** The newest commit of the work. */
  tip: string
  /**
   * Commits that others have. References in these commits and their ancestors are not part of the work. Missing commits
   * are ignored.
   */
  known: readonly string[]
}

/** Lists the commits of submodules to which a change refers, and to which no known commit referred. @throws GitFailed */
export async function listSubmoduleCommits(
  run: GitRun,
  { from, to, tip, known }: SubmoduleChange,
): Promise<SubmoduleCommit[]> {
  const raw = ['-r', '-z', '--raw', '--no-abbrev', '--no-renames', '--ignore-submodules=none']
  const args = from === undefined ? ['ls-tree', '-r', '-z', to] : ['diff-tree', ...raw, from, to]
  const listed = await run(args, { timeoutMs, maxBytes: maxListBytes })
  const changed = from === undefined ? linksOfTree(listed) : linksOfChanges(listed)
  if (changed.length === 0) return []
  // For a merge, lists only the files that differ from all parents.
  const history = await run(['log', '--format=', '--no-show-signature', '-c', ...raw, '--ignore-missing', '--stdin'], {
    input: [tip, ...[...known, ...(from === undefined ? [] : [from])].map(id => `^${id}`)]
      .map(line => `${line}\n`)
      .join(''),
    timeoutMs,
    maxBytes: maxListBytes,
  })
  const introduced = new Set(linksOfChanges(history).map(({ commit }) => commit))
  const links = changed.filter(({ commit }) => introduced.has(commit))
  if (links.length === 0) return []
  const names = await readModules(run, to, 'path')
  const nameOf = new Map([...names].map(([name, path]) => [path, name]))
  return links.map(link => ({ ...link, name: nameOf.get(link.path) }))
}

const fillCommand = 'submodule update --init --recursive'

/**
 * Returns the command that fills the submodules of a new worktree. If a remote is a local folder or requires a key, the sandbox cannot
 * reach it, so the command takes the commits from the Git folder of the submodule in the project's folder.
 */
export async function submoduleFillCommand({ commonDir, gitDir }: WorkingTree): Promise<string> {
  const args = ['config', '-z', '--get-regexp', '^submodule\\..*\\.url$']
  const { stdout } = await git(commonDir, args, { env: inGitDir(commonDir) })
  const unreachable = settingsIn(stdout, 'url').filter(([name, url]) => !/^https?:/.test(url) && !name.includes('='))
  const stores = await Promise.all(
    unreachable.map(async ([name]) => {
      const store = join(modulesOf({ gitDir }), name)
      return (await kindOf(store)) === 'folder' ? ['-c', `submodule.${name}.url=${store}`] : []
    }),
  )
  const options = stores.flat().map(shellWord)
  return ['git', ...(options.length > 0 ? ['-c protocol.file.allow=always'] : []), ...options, fillCommand].join(' ')
}

/** Reads a setting of the submodules in `.gitmodules` of a commit or tree, by their names. */
export async function readModules(
  run: GitRun,
  revision: string,
  setting: 'path' | 'ignore' | 'update',
): Promise<Map<string, string>> {
  const args = ['config', '-z', '--blob', `${revision}:.gitmodules`, '--get-regexp', `^submodule\\..*\\.${setting}$`]
  // The file is missing, or broken.
  return new Map(settingsIn(await run(args).catch(() => Buffer.alloc(0)), setting))
}

/** The values of a setting of submodules, by their names, as `git config -z` lists them. */
const settingsIn = (listed: Buffer, setting: string): Array<[string, string]> =>
  nulSeparated(listed).flatMap((entry): Array<[string, string]> => {
    const at = entry.indexOf('\n')
    const name = entry.slice('submodule.'.length, at - `.${setting}`.length)
    return at > 0 && isSafeName(name) ? [[name, entry.slice(at + 1)]] : []
  })

/** Whether a name of a submodule leads to no other folder than its own. Git has the same rule. */
export const isSafeName = (name: string): boolean =>
  name.isWellFormed() && !name.includes('\0') && name.split('/').every(part => !['', '.', '..'].includes(part))

type Link = Pick<SubmoduleCommit, 'path' | 'commit'>

const linksOfTree = (listed: Buffer): Link[] =>
  nulSeparated(listed)
    .filter(entry => entry.startsWith(gitlink))
    .map(entry => ({ path: entry.slice(entry.indexOf('\t') + 1), commit: entry.split(/[ \t]/, 3)[2]! }))

/**
 * Parses ":mode mode ID ID status NUL path NUL". For a merge, there are as many colons, modes and IDs before as the
 * merge has parents.
 */
function linksOfChanges(listed: Buffer): Link[] {
  const parts = nulSeparated(listed)
  return parts.flatMap((part, index) => {
    const [, colons, words] = /^\n?(:+)(.*)$/.exec(part) ?? []
    if (colons === undefined) return []
    const [fields, path] = [words!.split(' '), parts[index + 1]!]
    return fields[colons.length] === gitlink ? [{ path, commit: fields[colons.length * 2 + 1]! }] : []
  })
}
