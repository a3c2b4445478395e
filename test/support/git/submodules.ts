import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const environment = {
  ...process.env,
  GIT_AUTHOR_NAME: 'T',
  GIT_AUTHOR_EMAIL: 't@example.org',
  GIT_COMMITTER_NAME: 'T',
  GIT_COMMITTER_EMAIL: 't@example.org',
}

/** Runs Git like a user who allows submodules in local folders. */
export const git = (path: string, ...args: string[]): string =>
  execFileSync('git', ['-C', path, '-c', 'protocol.file.allow=always', ...args], {
    env: environment,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim()

/** Creates a repository with one commit, which has a file. */
export function createLibrary(path: string): string {
  execFileSync('git', ['init', '-q', '-b', 'main', path])
  writeFileSync(join(path, 'lib.txt'), 'lib\n')
  git(path, 'add', '.')
  git(path, 'commit', '-qm', 'Library')
  return path
}

/** The remote of a submodule. */
export const libraryOf = (repository: string, name: string): string =>
  join(repository, `remote-${name.replaceAll('/', '-')}`)

/** Adds a submodule to a repository. Its remote is in the repository's folder, where agents can read it. */
export function addSubmodule(repository: string, folder: string, name = folder): string {
  const library = createLibrary(libraryOf(repository, name))
  git(library, 'config', 'receive.denyCurrentBranch', 'ignore')
  const exclude = git(repository, 'rev-parse', '--path-format=absolute', '--git-path', 'info/exclude')
  mkdirSync(dirname(exclude), { recursive: true })
  appendFileSync(exclude, '/remote-*\n')
  git(repository, 'submodule', '--quiet', 'add', '--name', name, library, folder)
  git(repository, 'commit', '-qm', `Add ${name}`)
  return library
}

/** Commands of an agent: fills the submodules, and commits a change in a folder. */
export const fill = 'git -c protocol.file.allow=always submodule --quiet update --init --recursive'
export const commitIn = (folder: string, text = 'inner'): string =>
  `(cd ${folder} && echo ${text} >> lib.txt && git commit -qam ${text})`
