export interface Ran {
  code: number
  stdout: string
  stderr: string
}

const maxBytes = 64 * 1024 * 1024
/** Disables hooks and the file system monitor, because a card's agent might have planted them in the shared repository. */
const quiet = ['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false', '-c', 'advice.detachedHead=false']

/** Runs Git on this machine. Returns exit code 127 if the folder or Git is missing. */
export async function git(folder: string, ...args: string[]): Promise<Ran> {
  const { execa } = await import('execa')
  const { exitCode, stdout, stderr } = await execa('git', [...quiet, ...args], {
    cwd: folder,
    maxBuffer: maxBytes,
    env: { GIT_OPTIONAL_LOCKS: '0' },
    stripFinalNewline: false,
    reject: false,
  })
  return { code: exitCode ?? 127, stdout: stdout ?? '', stderr: stderr ?? '' }
}

/** Returns the top folder of the working tree around a folder. Returns undefined if there is none. */
export async function findTopLevel(folder: string): Promise<string | undefined> {
  const { code, stdout } = await git(folder, 'rev-parse', '--show-toplevel')
  return code === 0 ? stdout.replace(/\n$/, '') : undefined
}

/** The folder in which a branch of a folder's repository is checked out. */
export async function findWorktree(folder: string, branch: string): Promise<string | undefined> {
  const { code, stdout } = await git(folder, 'worktree', 'list', '--porcelain', '-z')
  if (code !== 0) return undefined
  const worktree = stdout.split('\0\0').find(entry => entry.split('\0').includes(`branch refs/heads/${branch}`))
  return worktree && /(?:^|\0)worktree ([^\0]*)/.exec(worktree)?.[1]
}

export const hasBranch = async (folder: string, branch: string): Promise<boolean> =>
  (await git(folder, 'rev-parse', '--verify', '--quiet', `refs/heads/${branch}^{commit}`)).code === 0

/** Returns whether an untrusted name is a valid branch name. */
export const isBranchName = async (folder: string, name: string): Promise<boolean> =>
  !name.startsWith('-') && (await git(folder, 'check-ref-format', `refs/heads/${name}`)).code === 0
