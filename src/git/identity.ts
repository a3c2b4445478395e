import { configurationOf } from './configuration.ts'
import type { WorkingTree } from './workingTrees.ts'
import { nulSeparated } from './fileNames.ts'
import { git, inGitDir } from './git.ts'

/** The committer of the board's commits in a repository. */
export interface Committer {
  /** Git's variables of the author and the committer. */
  env: Record<string, string>
  /** Options of Git that sign commits. Null if the configuration does not sign them. */
  signing: readonly string[] | null
}

const wanted = '^((user|author|committer)\\.(name|email)|user\\.signingkey|commit\\.gpgsign|gpg\\..*)$'
/** The settings that name programs. A repository could name any. */
const programs = /^gpg\.(.*\.)?(program|defaultkeycommand)$/

/**
 * Returns the committer in a repository: the author, the committer and the signature of its configuration, otherwise the board
 * without a signature. Programs that sign come only from the account's configuration.
 */
export async function committerOf(commonDir: string): Promise<Committer> {
  const { stdout } = await git(commonDir, ['config', '--null', '--show-scope', '--get-regexp', wanted], {
    env: inGitDir(commonDir),
  })
  const parts = nulSeparated(stdout)
  const settings = new Map<string, string | undefined>()
  const signing: string[] = []
  for (let at = 0; at < parts.length; at += 2) {
    const [name, value] = parseEntry(parts[at + 1]!)
    const isOfAccount = parts[at] === 'global' || parts[at] === 'system'
    settings.set(name, value)
    if (/^(user\.signingkey|gpg\.)/.test(name) && (isOfAccount || !programs.test(name)))
      signing.push('-c', `${name}=${value ?? ''}`)
  }
  return { env: variablesOf(settings), signing: isTrue(settings, 'commit.gpgsign') ? signing : null }
}

/** Whether the configuration of a working tree signs commits. */
export async function signsCommits(place: WorkingTree): Promise<boolean> {
  const entry = (await configurationOf(place)).findLast(({ name }) => name === 'commit.gpgsign')
  return entry !== undefined && isTrue(new Map([[entry.name, entry.value || undefined]]), entry.name)
}

/** An entry is "name LF value", or "name" for one without a value, which is true. */
function parseEntry(entry: string): [name: string, value: string | undefined] {
  const at = entry.indexOf('\n')
  return at < 0 ? [entry, undefined] : [entry.slice(0, at), entry.slice(at + 1)]
}

const isTrue = (settings: ReadonlyMap<string, string | undefined>, name: string): boolean =>
  settings.has(name) && /^(true|yes|on|[1-9]\d*)$/i.test(settings.get(name) ?? 'true')

function variablesOf(settings: ReadonlyMap<string, string | undefined>): Record<string, string> {
  const person = (role: string) => {
    const [name, email] = ['name', 'email'].map(
      part => nonEmptyName(settings.get(`${role}.${part}`)) ?? nonEmptyName(settings.get(`user.${part}`)),
    )
    return name !== undefined && email !== undefined ? [name, email] : ['board', 'board@localhost']
  }
  const [[author, authorEmail], [committer, committerEmail]] = [person('author'), person('committer')]
  return {
    GIT_AUTHOR_NAME: author!,
    GIT_AUTHOR_EMAIL: authorEmail!,
    GIT_COMMITTER_NAME: committer!,
    GIT_COMMITTER_EMAIL: committerEmail!,
  }
}

/** A setting without the characters that Git strips from names. Undefined if no other characters remain. */
function nonEmptyName(setting = ''): string | undefined {
  const value = setting.replace(/[<>\s]+/g, ' ').trim()
  return /[\p{L}\p{N}]/u.test(value) ? value : undefined
}
