import { git } from './git.ts'
import { nulSeparated } from './fileNames.ts'

/**
 * The author of commits in a repository, as Git's variables: the person's of its configuration, else the board's own.
 */
export async function identityOf(commonDir: string): Promise<Record<string, string>> {
  const { stdout } = await git(commonDir, ['config', '--null', '--get-regexp', '^user\\.(name|email)$'], {
    env: { GIT_DIR: commonDir },
  })
  const settings = new Map(
    nulSeparated(stdout).map(entry => [entry.slice(0, entry.indexOf('\n')), entry.slice(entry.indexOf('\n') + 1)]),
  )
  const [name, email] = [named(settings.get('user.name')), named(settings.get('user.email'))]
  const [author, address] = name !== undefined && email !== undefined ? [name, email] : ['board', 'board@localhost']
  return {
    GIT_AUTHOR_NAME: author,
    GIT_AUTHOR_EMAIL: address,
    GIT_COMMITTER_NAME: author,
    GIT_COMMITTER_EMAIL: address,
  }
}

/** A setting with more than the characters that Git strips from names. */
function named(setting = ''): string | undefined {
  const value = setting.replace(/[<>\s]+/g, ' ').trim()
  return /[\p{L}\p{N}]/u.test(value) ? value : undefined
}
