import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

/** The commit id in webhooks for a branch that was created or deleted. */
export const noCommit = '0'.repeat(40)
const identity = {
  GIT_AUTHOR_NAME: 'Forge',
  GIT_AUTHOR_EMAIL: 'forge@example.org',
  GIT_COMMITTER_NAME: 'Forge',
  GIT_COMMITTER_EMAIL: 'forge@example.org',
}

export interface ChangedFile {
  path: string
  status: 'added' | 'removed' | 'modified' | 'renamed'
  additions: number
  deletions: number
  patch: string
}

/** The bare Git repository behind a forge, which reads its branches and merges from it. */
export class BareRepository {
  readonly path: string
  readonly defaultBranch: string
  readonly #mergeable = new Map<string, boolean>()
  readonly #files = new Map<string, ChangedFile[]>()

  /** Starts with the branches of another repository, or with one empty commit. */
  constructor(path: string, defaultBranch: string, from?: string) {
    this.path = path
    this.defaultBranch = defaultBranch
    mkdirSync(dirname(path), { recursive: true })
    execFileSync('git', ['init', '-q', '--bare', '-b', defaultBranch, path])
    this.git('config', 'http.receivepack', 'true')
    this.git('config', 'core.quotePath', 'false')
    if (from !== undefined) this.git('fetch', '-q', from, 'refs/heads/*:refs/heads/*')
    else this.#move(defaultBranch, this.#commit(this.#write('mktree', ''), [], 'Begin'))
  }

  git(...args: string[]): string {
    return execFileSync('git', ['-C', this.path, ...args], {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
      env: { ...process.env, ...identity },
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trimEnd()
  }

  /** The commit of a branch, or of any other revision. */
  tip(branch: string): string | undefined {
    return this.#ask('rev-parse', '--verify', '-q', `refs/heads/${branch}^{commit}`)
  }

  resolve(name: string): string | undefined {
    return this.tip(name) ?? this.#ask('rev-parse', '--verify', '-q', '--end-of-options', `${name}^{commit}`)
  }

  branches(): string[] {
    return this.git('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads').split('\n').filter(Boolean)
  }

  base(one: string, other: string): string | undefined {
    return this.#ask('merge-base', one, other)
  }

  contains(tip: string, commit: string): boolean {
    return this.#succeeds('merge-base', '--is-ancestor', commit, tip)
  }

  mergeable(base: string, head: string): boolean {
    const pair = `${base} ${head}`
    const known = this.#mergeable.get(pair)
    if (known !== undefined) return known
    const found = this.#succeeds('merge-tree', '--write-tree', base, head)
    this.#mergeable.set(pair, found)
    return found
  }

  commits(base: string, head: string): { sha: string; message: string; author: string; email: string; date: string }[] {
    return this.git('log', '--reverse', '-z', '--format=%H%x01%an%x01%ae%x01%aI%x01%B', `${base}..${head}`)
      .split('\0')
      .filter(Boolean)
      .map(each => {
        const [sha, author, email, date, message] = each.split('\u0001') as [string, string, string, string, string]
        return { sha, author, email, date, message: message.trimEnd() }
      })
  }

  files(base: string, head: string): ChangedFile[] {
    const pair = `${base} ${head}`
    const found = this.#files.get(pair) ?? this.#readFiles(base, head)
    this.#files.set(pair, found)
    return found
  }

  #readFiles(base: string, head: string): ChangedFile[] {
    const range = [this.base(base, head) ?? base, head]
    const states = { A: 'added', D: 'removed', M: 'modified' } as Record<string, ChangedFile['status']>
    return this.git('diff', '--no-renames', '--name-status', ...range)
      .split('\n')
      .filter(Boolean)
      .map(line => {
        const [state, path] = line.split('\t') as [string, string]
        const patch = this.git('diff', '--no-renames', ...range, '--', path)
        const at = patch.indexOf('@@')
        const lines = (at < 0 ? '' : patch.slice(at)).split('\n')
        const count = (sign: string) => lines.filter(each => each.startsWith(sign)).length
        return {
          path,
          status: states[state] ?? 'modified',
          additions: count('+'),
          deletions: count('-'),
          patch: lines.join('\n'),
        }
      })
  }

  /** The text of a file, or undefined. */
  read(commit: string, path: string): string | undefined {
    return this.#ask('show', `${commit}:${path}`)
  }

  /** The object of a path, or null. */
  blob(commit: string, path: string): string | null {
    return this.#ask('rev-parse', '--verify', '-q', `${commit}:${path}`) ?? null
  }

  line(commit: string, path: string, line: number): string | undefined {
    return this.read(commit, path)?.split('\n')[line - 1]
  }

  /** Commits files on a branch, or on another commit. @returns the new commit */
  write(branch: string, files: Record<string, string>, message: string, from?: string): string {
    const parent = from ?? this.tip(branch) ?? this.tip(this.defaultBranch)!
    const index = `${this.path}/forge-index-${process.pid}`
    const env = { ...process.env, ...identity, GIT_INDEX_FILE: index }
    const run = (args: string[], input = '') =>
      execFileSync('git', ['-C', this.path, ...args], { encoding: 'utf8', env, input }).trim()
    run(['read-tree', parent])
    for (const [path, text] of Object.entries(files)) {
      const blob = run(['hash-object', '-w', '--stdin'], text)
      run(['update-index', '--add', '--cacheinfo', `100644,${blob},${path}`])
    }
    const commit = this.#commit(run(['write-tree']), [parent], message)
    this.#move(branch, commit)
    return commit
  }

  /** Merges like the button of a forge. @returns the base's new commit */
  merge(base: string, head: string, method: 'merge' | 'squash' | 'rebase' | 'ff', message: string): string {
    const onto = this.tip(base)!
    const tree = this.git('merge-tree', '--write-tree', onto, head).split('\n')[0]!
    let result: string
    if (method === 'ff') result = head
    else if (method === 'rebase') {
      result = onto
      for (const { sha, message: text } of this.commits(onto, head)) {
        const before = this.#commit(this.git('rev-parse', `${sha}^^{tree}`), [], 'before')
        const [ours, theirs] = [result, sha].map(each =>
          this.#commit(this.git('rev-parse', `${each}^{tree}`), [before], 'side'),
        ) as [string, string]
        result = this.#commit(this.git('merge-tree', '--write-tree', ours, theirs).split('\n')[0]!, [result], text)
      }
    } else result = this.#commit(tree, method === 'merge' ? [onto, head] : [onto], message)
    this.#move(base, result)
    return result
  }

  move(branch: string, commit: string): void {
    this.#move(branch, commit)
  }

  deleteBranch(branch: string): boolean {
    if (this.tip(branch) === undefined) return false
    this.git('update-ref', '-d', `refs/heads/${branch}`)
    return true
  }

  #commit(tree: string, parents: string[], message: string): string {
    return this.git('commit-tree', tree, ...parents.flatMap(each => ['-p', each]), '-m', message)
  }

  #move(branch: string, commit: string): void {
    this.git('update-ref', `refs/heads/${branch}`, commit)
  }

  #write(command: string, input: string): string {
    return execFileSync('git', ['-C', this.path, command], { encoding: 'utf8', input }).trim()
  }

  #ask(...args: string[]): string | undefined {
    const { status, stdout } = spawnSync('git', ['-C', this.path, ...args], {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return status === 0 ? stdout.replace(/\n$/, '') : undefined
  }

  #succeeds(...args: string[]): boolean {
    return this.#ask(...args) !== undefined
  }
}
