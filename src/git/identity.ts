import { git } from './git.ts'

/** In whose name commits are made in a repository: the person's of its Git configuration, else the board's own. As variables of Git's. */
export async function identityOf(path: string): Promise<Record<string, string>> {
  const [name, email] = await Promise.all([read(path, 'user.name'), read(path, 'user.email')])
  const [author, address] = name !== undefined && email !== undefined ? [name, email] : ['board', 'board@localhost']
  return { GIT_AUTHOR_NAME: author, GIT_AUTHOR_EMAIL: address, GIT_COMMITTER_NAME: author, GIT_COMMITTER_EMAIL: address }
}

/** A setting that holds more than the marks which Git strips from names. */
async function read(path: string, setting: string): Promise<string | undefined> {
  const { exitCode, stdout } = await git(path, ['config', '--get', setting])
  const value = stdout.toString().replace(/[<>\s\0]+/g, ' ').trim()
  return exitCode === 0 && /[\p{L}\p{N}]/u.test(value) ? value : undefined
}
